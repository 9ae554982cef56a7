package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/alarms/rules"
	"github.com/otkit/otkit/openapi/client"
)

// The scripts ask otctl itself, which prints a candidate in each line. Nothing is printed where the shell should complete files.
var completionScripts = map[string]string{
	"bash": `_otctl() {
    # Bash divides words at : and =, which ids and values have, and completes what is behind the last one.
    local IFS=$'\n' breaks=${COMP_WORDBREAKS//[^:=]/} join= kept= line word i n=0
    local words=()
    for ((i = 1; i <= COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        if [[ -n $breaks && -n $word && -z ${word//[$breaks]/} && $n -gt 0 ]]; then
            words[n-1]+=$word join=1
        elif [[ -n $join ]] && [[ -n $word || ${COMP_LINE:0:COMP_POINT} != *' ' ]]; then
            words[n-1]+=$word join=
        else
            words[n++]=$word join=
        fi
    done
    word=${words[n-1]}
    if [[ -n $breaks ]]; then kept=${word%"${word##*[$breaks]}"}; fi
    COMPREPLY=()
    while IFS= read -r line; do
        line=${line%%$'\t'*}
        COMPREPLY+=("$(printf %q "${line#"$kept"}")")
    done < <(otctl __complete "${words[@]}" 2>/dev/null)
}
complete -o default -F _otctl otctl
`,
	"zsh": `#compdef otctl
_otctl() {
    local -a names shown
    local line
    while IFS= read -r line; do
        names+=("${line%%$'\t'*}")
        shown+=("${line//$'\t'/  }")
    done < <(otctl __complete "${(@)words[2,CURRENT]}" 2>/dev/null)
    if (( ${#names} )); then compadd -d shown -a names; else _files; fi
}
compdef _otctl otctl
`,
	"fish": `function __otctl_complete
    set -l words (commandline -opc) (commandline -ct)
    otctl __complete $words[2..-1] 2>/dev/null
end
complete -c otctl -f -n 'test (count (__otctl_complete)) -gt 0' -a '(__otctl_complete)'
`,
}

func (c *cli) completionScript(shell string) error {
	script, ok := completionScripts[shell]
	if !ok {
		return usagef("%q: bash, zsh and fish are known", shell)
	}
	_, err := c.out.WriteString(script)
	return err
}

// complete prints what the last word may become. It is silent about errors, since a terminal is being typed in.
func (c *cli) complete(ctx context.Context, words []string) error {
	if len(words) == 0 {
		words = []string{""}
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	typed := words[len(words)-1]
	seen := map[string]bool{}
	for _, one := range c.candidates(ctx, words[:len(words)-1], typed) {
		name, _, _ := strings.Cut(one, "\t")
		if !strings.HasPrefix(name, typed) || seen[name] || strings.ContainsFunc(name, controls) {
			continue
		}
		seen[name] = true
		if _, err := fmt.Fprintln(c.out, strings.Map(func(r rune) rune {
			if r != '\t' && controls(r) {
				return ' '
			}
			return r
		}, one)); err != nil {
			return err
		}
	}
	return nil
}

func (c *cli) candidates(ctx context.Context, before []string, typed string) []string {
	all := commands()
	globals := c.flagSet("otctl")
	globals.SetOutput(io.Discard)
	if globals.Parse(before) != nil {
		return nil
	}
	found, rest, ok := find(all, globals.Args())
	if !ok {
		return wordsOf(all, globals.Args())
	}
	f := c.flagSet(found.name)
	f.SetOutput(io.Discard)
	if found.flags != nil {
		found.flags(f)
	}
	if len(rest) > 0 && strings.HasPrefix(rest[len(rest)-1], "-") && takesValue(f, rest[len(rest)-1]) {
		if last := strings.TrimLeft(rest[len(rest)-1], "-"); last == "o" {
			return []string{"table", "json"}
		} else if last == "driver" || last == "tag" {
			return c.names(ctx, last, typed)
		}
		return nil
	}
	if strings.HasPrefix(typed, "-") {
		var list []string
		f.VisitAll(func(one *flag.Flag) { list = append(list, "-"+one.Name+"\t"+strings.ReplaceAll(one.Usage, "`", "")) })
		return list
	}
	args, err := positional(f, rest)
	if err != nil || len(found.takes) == 0 || found.most >= 0 && len(args) >= found.most {
		return nil
	}
	return c.names(ctx, found.takes[min(len(args), len(found.takes)-1)], typed)
}

// wordsOf lists the next words of the commands that begin as typed.
func wordsOf(all []command, typed []string) []string {
	begun := strings.Join(append(slices.Clone(typed), ""), " ")
	var list []string
	for _, one := range all {
		if rest, ok := strings.CutPrefix(one.name, begun); ok {
			next, _, more := strings.Cut(rest, " ")
			if !more {
				next += "\t" + one.about
			}
			list = append(list, next)
		}
	}
	return list
}

// names lists objects of a kind at the engine, as far as they are cheap to get.
func (c *cli) names(ctx context.Context, kind, typed string) []string {
	if words, ok := strings.CutPrefix(kind, "="); ok {
		return strings.Fields(words)
	}
	conn, err := c.connect()
	if err != nil {
		return nil
	}
	switch kind {
	case "tag":
		size := 100
		a, _, _ := get[client.TagList](conn.ListTags(ctx, &client.ListTagsParams{NamePattern: likePrefix(typed), PageSize: &size}))
		return each(a.Tags, func(t client.Tag) string { return t.Name + "\t" + strings.TrimSpace(t.Unit+" "+t.Description) })
	case "driver":
		a, _, _ := get[[]client.DriverStatus](conn.ListDrivers(ctx))
		return each(a, func(d client.DriverStatus) string { return d.DriverID + "\t" + string(d.State) })
	case "engine":
		a, _, _ := get[client.EngineList](conn.ListEngines(ctx))
		return each(a.Engines, func(e client.EngineStatus) string { return e.Name + "\t" + amounts(e.Owned) })
	case "rule":
		size := 100
		a, _, _ := get[struct{ Rules []rules.WithCode }](conn.ListAlarmRules(ctx, &client.ListAlarmRulesParams{PageSize: &size}))
		return each(a.Rules, func(r rules.WithCode) string { return r.ID + "\t" + r.Tag })
	case "device":
		a, _, _ := get[[]client.Device](conn.ListDevices(ctx))
		return each(a, func(d client.Device) string { return d.DeviceID + "\t" + string(d.CurrentState) })
	case "bridge":
		a, _, _ := get[[]client.BridgeBindingStatus](conn.ListBindings(ctx))
		return each(a, func(b client.BridgeBindingStatus) string { return b.BridgeID + "\t" + b.BaseURL })
	case "equipment":
		a, _, _ := get[[]string](conn.ListEquipments(ctx))
		return a
	case "silence":
		a, _, _ := get[[]client.AlertSilence](conn.ListSilences(ctx))
		return each(a, func(s client.AlertSilence) string { return s.SilenceID + "\t" + s.SourceIDPattern })
	case "shell":
		size := 100
		a, _, _ := get[struct{ Items []aas.Shell }](conn.ListShells(ctx, &client.ListShellsParams{PageSize: &size}))
		return each(a.Items, func(s aas.Shell) string { return s.ID + "\t" + s.IDShort })
	case "alarm", "code":
		size := 100
		a, _, _ := get[client.AlarmList](conn.ListAlarms(ctx, &client.ListAlarmsParams{State: "all", PageSize: &size}))
		return each(a.Alarms, func(a client.AlarmInfo) string {
			if kind == "code" {
				return fmt.Sprint(a.Code, "\t", a.Message)
			}
			return a.ID + "\t" + a.Message
		})
	case "server":
		saved, _ := conn.sender.store.load()
		return slices.Sorted(maps.Keys(saved.Sessions))
	}
	return nil
}

// likePrefix is the pattern of names that begin with a text as it is.
func likePrefix(text string) string {
	return strings.NewReplacer(`\`, `\\`, "%", `\%`, "_", `\_`).Replace(text) + "%"
}

func each[T any](list []T, name func(T) string) []string {
	names := make([]string, len(list))
	for i, one := range list {
		names[i] = name(one)
	}
	return names
}
