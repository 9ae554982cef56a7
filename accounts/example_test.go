package accounts_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/otkit/otkit/accounts"
)

func Example() {
	ctx := context.Background()
	store := accounts.NewMemory()
	service, err := accounts.New(store, store, accounts.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := service.Add(ctx, "anna", "correct horse", accounts.Operator); err != nil {
		fmt.Println(err)
		return
	}

	login, err := service.Login(ctx, "Anna", "correct horse", "192.0.2.7:52011")
	fmt.Println(login.Account.Name, login.Account.Role, err)

	_, err = service.Login(ctx, "anna", "guess", "192.0.2.7:52011")
	fmt.Println(errors.Is(err, accounts.ErrCredentials), err)
	// Output:
	// anna Operator <nil>
	// true user name or password is wrong
}
