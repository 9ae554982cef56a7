package aas

import (
	"encoding/base64"
	"encoding/hex"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// The data types of values, XSD 1.0 part 2.
const (
	AnyURI             DataType = "xs:anyURI"
	Base64Binary       DataType = "xs:base64Binary"
	Boolean            DataType = "xs:boolean"
	Byte               DataType = "xs:byte"
	Date               DataType = "xs:date"
	DateTime           DataType = "xs:dateTime"
	Decimal            DataType = "xs:decimal"
	Double             DataType = "xs:double"
	Duration           DataType = "xs:duration"
	Float              DataType = "xs:float"
	GDay               DataType = "xs:gDay"
	GMonth             DataType = "xs:gMonth"
	GMonthDay          DataType = "xs:gMonthDay"
	GYear              DataType = "xs:gYear"
	GYearMonth         DataType = "xs:gYearMonth"
	HexBinary          DataType = "xs:hexBinary"
	Int                DataType = "xs:int"
	Integer            DataType = "xs:integer"
	Long               DataType = "xs:long"
	NegativeInteger    DataType = "xs:negativeInteger"
	NonNegativeInteger DataType = "xs:nonNegativeInteger"
	NonPositiveInteger DataType = "xs:nonPositiveInteger"
	PositiveInteger    DataType = "xs:positiveInteger"
	Short              DataType = "xs:short"
	String             DataType = "xs:string"
	Time               DataType = "xs:time"
	UnsignedByte       DataType = "xs:unsignedByte"
	UnsignedInt        DataType = "xs:unsignedInt"
	UnsignedLong       DataType = "xs:unsignedLong"
	UnsignedShort      DataType = "xs:unsignedShort"
)

// ValidateLexical reports whether a text is in the lexical form of a data type, without white space around
// it. The error is ErrInvalidRequest.
func ValidateLexical(t DataType, text string) error {
	rule, known := lexicalRules[t]
	switch {
	case !known:
		return invalid("valueType", "is no data type of the metamodel")
	case !rule(text):
		return invalid("value", notLexical(t))
	}
	return nil
}

func notLexical(t DataType) string { return "must be in the lexical form of " + string(t) }

const zone = `(Z|[+-](0\d|1[0-3]):[0-5]\d|[+-]14:00)?`

var lexicalRules = map[DataType]func(string) bool{
	AnyURI:             isAnyURI,
	Base64Binary:       isBase64,
	Boolean:            func(s string) bool { return s == "true" || s == "false" || s == "1" || s == "0" },
	Byte:               signed(8),
	Date:               dated(`^(-?\d{4,})-(\d\d)-(\d\d)` + zone + `$`),
	DateTime:           dated(`^(-?\d{4,})-(\d\d)-(\d\d)T(?:(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?|24:00:00(?:\.0+)?)` + zone + `$`),
	Decimal:            matching(`^[+-]?(\d+(\.\d+)?|\.\d+)$`),
	Double:             isFloat(64),
	Duration:           isDuration,
	Float:              isFloat(32),
	GDay:               matching(`^---(0[1-9]|[12]\d|3[01])` + zone + `$`),
	GMonth:             matching(`^--(0[1-9]|1[0-2])` + zone + `$`),
	GMonthDay:          isMonthDay,
	GYear:              years(`^(-?\d{4,})` + zone + `$`),
	GYearMonth:         years(`^(-?\d{4,})-(?:0[1-9]|1[0-2])` + zone + `$`),
	HexBinary:          func(s string) bool { _, err := hex.DecodeString(s); return err == nil },
	Int:                signed(32),
	Integer:            integer(func(int) bool { return true }),
	Long:               signed(64),
	NegativeInteger:    integer(func(sign int) bool { return sign < 0 }),
	NonNegativeInteger: integer(func(sign int) bool { return sign >= 0 }),
	NonPositiveInteger: integer(func(sign int) bool { return sign <= 0 }),
	PositiveInteger:    integer(func(sign int) bool { return sign > 0 }),
	Short:              signed(16),
	String:             isXMLText,
	Time:               matching(`^(([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d+)?|24:00:00(\.0+)?)` + zone + `$`),
	UnsignedByte:       unsigned(8),
	UnsignedInt:        unsigned(32),
	UnsignedLong:       unsigned(64),
	UnsignedShort:      unsigned(16),
}

// maxForm is how long a number, date or duration may be. XSD lets them have any length; no value comes
// near this one, and the time that a longer one takes is wasted.
const maxForm = 4096

func matching(pattern string) func(string) bool {
	form := regexp.MustCompile(pattern)
	return func(s string) bool { return len(s) <= maxForm && form.MatchString(s) }
}

// groups returns what the groups of a form match, nil when it does not.
func groups(pattern string) func(string) []string {
	form := regexp.MustCompile(pattern)
	return func(s string) []string {
		if len(s) > maxForm {
			return nil
		}
		return form.FindStringSubmatch(s)
	}
}

// isXMLText reports whether XML 1.0 can hold the text (AASd-130).
func isXMLText(s string) bool {
	plain := true
	for i := range len(s) {
		plain = plain && s[i] >= 0x20 && s[i] < utf8.RuneSelf
	}
	if plain {
		return true
	}
	for i, r := range s {
		switch {
		case r < 0x20 && r != '\t' && r != '\n' && r != '\r', r == 0xFFFE, r == 0xFFFF:
			return false
		case r == utf8.RuneError && !strings.HasPrefix(s[i:], "\uFFFD"):
			return false
		}
	}
	return true
}

func isBase64(s string) bool {
	packed := strings.ReplaceAll(s, " ", "")
	_, err := base64.StdEncoding.Strict().DecodeString(packed)
	return err == nil && !strings.ContainsAny(s, "\r\n") && !strings.HasPrefix(s, " ") && !strings.HasSuffix(s, " ")
}

func signed(size int) func(string) bool {
	return func(s string) bool {
		_, err := strconv.ParseInt(s, 10, size)
		return err == nil
	}
}

func unsigned(size int) func(string) bool {
	return func(s string) bool {
		digits, _ := strings.CutPrefix(s, "+")
		_, err := strconv.ParseUint(digits, 10, size)
		return err == nil
	}
}

var integerForm = matching(`^[+-]?\d+$`)

func integer(allowed func(sign int) bool) func(string) bool {
	return func(s string) bool {
		if !integerForm(s) {
			return false
		}
		sign := 1
		if s[0] == '-' {
			sign = -1
		}
		if strings.Trim(s, "+-0") == "" {
			sign = 0
		}
		return allowed(sign)
	}
}

var floatForm = matching(`^([+-]?(\d+(\.\d*)?|\.\d+)([Ee][+-]?\d+)?|-?INF|NaN)$`)

// isFloat refuses what is out of range too.
func isFloat(size int) func(string) bool {
	return func(s string) bool {
		if !floatForm(s) {
			return false
		}
		_, err := strconv.ParseFloat(s, size)
		return err == nil
	}
}

var durationForm = matching(`^-?P(\d+Y)?(\d+M)?(\d+D)?(T(\d+H)?(\d+M)?(\d+(\.\d+)?S)?)?$`)

func isDuration(s string) bool {
	return durationForm(s) && !strings.HasSuffix(s, "P") && !strings.HasSuffix(s, "T")
}

func isMonthDay(s string) bool {
	return monthDayForm(s) && validDay("2000", s[2:4], s[5:7])
}

var monthDayForm = matching(`^--\d\d-\d\d` + zone + `$`)

// years checks forms whose first group is a year.
func years(pattern string) func(string) bool {
	form := groups(pattern)
	return func(s string) bool {
		m := form(s)
		return m != nil && plainYear(m[1])
	}
}

// dated checks forms whose first groups are year, month and day.
func dated(pattern string) func(string) bool {
	form := groups(pattern)
	return func(s string) bool {
		m := form(s)
		return m != nil && plainYear(m[1]) && strings.Trim(m[1], "-0") != "" && validDay(m[1], m[2], m[3])
	}
}

// plainYear refuses leading zeros beyond four digits.
func plainYear(year string) bool {
	digits := strings.TrimPrefix(year, "-")
	return len(digits) == 4 || digits[0] != '0'
}

// validDay looks at the calendar, which in XSD 1.0 has no year 0. It repeats every 400 years, so that
// the last four digits of a year of any length tell.
func validDay(year, month, day string) bool {
	digits := strings.TrimPrefix(year, "-")
	y, _ := strconv.Atoi(digits[len(digits)-4:])
	m, _ := strconv.Atoi(month)
	d, _ := strconv.Atoi(day)
	if digits != year {
		// There is no year 0: the year before 1 is -1, which the proleptic calendar counts as 0.
		y = 1 - y
	}
	of400 := y%400 + 800
	return m >= 1 && m <= 12 && d >= 1 && time.Date(of400, time.Month(m), d, 0, 0, 0, 0, time.UTC).Day() == d
}
