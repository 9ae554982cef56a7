package aas

// IEC61360Template is the id of the data specification that [IEC61360] is the content after.
const IEC61360Template = "https://admin-shell.io/DataSpecificationTemplates/DataSpecificationIec61360/3"

const contentModelType = "DataSpecificationIec61360"

func setOf[T ~string](words ...T) map[T]struct{} {
	set := make(map[T]struct{}, len(words))
	for _, w := range words {
		set[w] = struct{}{}
	}
	return set
}
