package aas

// member is the number of a member name that the metamodel has; noMember is any other.
type member uint8

const (
	noMember member = iota
	mAdministration
	mAnnotations
	mShells
	mAssetInformation
	mAssetKind
	mAssetType
	mCategory
	mConceptDescriptions
	mContentType
	mCreatedAt
	mCreator
	mDataSpecification
	mDataSpecificationContent
	mDataType
	mDefaultThumbnail
	mDefinition
	mDerivedFrom
	mDescription
	mDirection
	mDisplayName
	mEmbeddedDataSpecifications
	mEndpointProtocol
	mEndpointProtocolVersion
	mEndpoints
	mEntityType
	mExtensions
	mExternalSubjectID
	mFirst
	mGlobalAssetID
	mHref
	mID
	mIDShort
	mInoutputVariables
	mInputVariables
	mInterface
	mIsCaseOf
	mKey
	mKeys
	mKind
	mLanguage
	mLastUpdate
	mLevelType
	mMax
	mMaxInterval
	mMessageBroker
	mMessageTopic
	mMin
	mMinInterval
	mModelType
	mName
	mNom
	mObserved
	mOrderRelevant
	mOutputVariables
	mPath
	mPreferredName
	mProtocolInformation
	mQualifiers
	mReferredSemanticID
	mRefersTo
	mRevision
	mSecond
	mSecurityAttributes
	mSemanticID
	mSemanticIDListElement
	mShortName
	mSourceOfDefinition
	mSpecificAssetIDs
	mState
	mStatements
	mSubmodelDescriptors
	mSubmodelElements
	mSubmodels
	mSubprotocol
	mSubprotocolBody
	mSubprotocolBodyEncoding
	mSupplementalSemanticIDs
	mSymbol
	mTemplateID
	mText
	mTyp
	mType
	mTypeValueListElement
	mUnit
	mUnitID
	mUpdatedAt
	mValue
	mValueFormat
	mValueID
	mValueList
	mValueReferencePairs
	mValueType
	mValueTypeListElement
	mVersion
	endOfMembers
)

var memberNames = [endOfMembers]string{
	mAdministration:             "administration",
	mAnnotations:                "annotations",
	mShells:                     "assetAdministrationShells",
	mAssetInformation:           "assetInformation",
	mAssetKind:                  "assetKind",
	mAssetType:                  "assetType",
	mCategory:                   "category",
	mConceptDescriptions:        "conceptDescriptions",
	mContentType:                "contentType",
	mCreatedAt:                  "createdAt",
	mCreator:                    "creator",
	mDataSpecification:          "dataSpecification",
	mDataSpecificationContent:   "dataSpecificationContent",
	mDataType:                   "dataType",
	mDefaultThumbnail:           "defaultThumbnail",
	mDefinition:                 "definition",
	mDerivedFrom:                "derivedFrom",
	mDescription:                "description",
	mDirection:                  "direction",
	mDisplayName:                "displayName",
	mEmbeddedDataSpecifications: "embeddedDataSpecifications",
	mEndpointProtocol:           "endpointProtocol",
	mEndpointProtocolVersion:    "endpointProtocolVersion",
	mEndpoints:                  "endpoints",
	mEntityType:                 "entityType",
	mExtensions:                 "extensions",
	mExternalSubjectID:          "externalSubjectId",
	mFirst:                      "first",
	mGlobalAssetID:              "globalAssetId",
	mHref:                       "href",
	mID:                         "id",
	mIDShort:                    "idShort",
	mInoutputVariables:          "inoutputVariables",
	mInputVariables:             "inputVariables",
	mInterface:                  "interface",
	mIsCaseOf:                   "isCaseOf",
	mKey:                        "key",
	mKeys:                       "keys",
	mKind:                       "kind",
	mLanguage:                   "language",
	mLastUpdate:                 "lastUpdate",
	mLevelType:                  "levelType",
	mMax:                        "max",
	mMaxInterval:                "maxInterval",
	mMessageBroker:              "messageBroker",
	mMessageTopic:               "messageTopic",
	mMin:                        "min",
	mMinInterval:                "minInterval",
	mModelType:                  "modelType",
	mName:                       "name",
	mNom:                        "nom",
	mObserved:                   "observed",
	mOrderRelevant:              "orderRelevant",
	mOutputVariables:            "outputVariables",
	mPath:                       "path",
	mPreferredName:              "preferredName",
	mProtocolInformation:        "protocolInformation",
	mQualifiers:                 "qualifiers",
	mReferredSemanticID:         "referredSemanticId",
	mRefersTo:                   "refersTo",
	mRevision:                   "revision",
	mSecond:                     "second",
	mSecurityAttributes:         "securityAttributes",
	mSemanticID:                 "semanticId",
	mSemanticIDListElement:      "semanticIdListElement",
	mShortName:                  "shortName",
	mSourceOfDefinition:         "sourceOfDefinition",
	mSpecificAssetIDs:           "specificAssetIds",
	mState:                      "state",
	mStatements:                 "statements",
	mSubmodelDescriptors:        "submodelDescriptors",
	mSubmodelElements:           "submodelElements",
	mSubmodels:                  "submodels",
	mSubprotocol:                "subprotocol",
	mSubprotocolBody:            "subprotocolBody",
	mSubprotocolBodyEncoding:    "subprotocolBodyEncoding",
	mSupplementalSemanticIDs:    "supplementalSemanticIds",
	mSymbol:                     "symbol",
	mTemplateID:                 "templateId",
	mText:                       "text",
	mTyp:                        "typ",
	mType:                       "type",
	mTypeValueListElement:       "typeValueListElement",
	mUnit:                       "unit",
	mUpdatedAt:                  "updatedAt",
	mUnitID:                     "unitId",
	mValue:                      "value",
	mValueFormat:                "valueFormat",
	mValueID:                    "valueId",
	mValueList:                  "valueList",
	mValueReferencePairs:        "valueReferencePairs",
	mValueType:                  "valueType",
	mValueTypeListElement:       "valueTypeListElement",
	mVersion:                    "version",
}

var membersByName = func() map[string]member {
	byName := make(map[string]member, endOfMembers)
	for m := noMember + 1; m < endOfMembers; m++ {
		byName[memberNames[m]] = m
	}
	return byName
}()

// inMetadata reports whether the member of a submodel or an element is part of $metadata, after the
// schemas of IDTA-01002.
func inMetadata(m member) bool {
	switch m {
	case mSubmodelElements, mValue, mValueID, mMin, mMax, mFirst, mSecond, mAnnotations, mStatements,
		mEntityType, mGlobalAssetID, mSpecificAssetIDs, mContentType, mInputVariables, mOutputVariables,
		mInoutputVariables, mObserved:
		return false
	default:
		return true
	}
}
