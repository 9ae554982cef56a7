// Speaks with a server through the stock client and prints one line of JSON for each step.
const sdk = require('basyx-typescript-sdk');
const { jsonization } = require('@aas-core-works/aas-core3.0-typescript');

const given = JSON.parse(process.argv[2]);
const configuration = new sdk.Configuration({ basePath: given.url });
const core = (result) => result.mustValue();

async function step(name, promise, pick = (data) => data ?? null) {
  const answer = await promise;
  const value = answer.success ? pick(answer.data) : answer.error;
  console.log(JSON.stringify({ name, success: answer.success, value }));
  return answer.data;
}

const bare = (thing) => jsonization.toJsonable(thing);

async function main() {
  const shells = new sdk.AasRepositoryClient();
  const submodels = new sdk.SubmodelRepositoryClient();
  const concepts = new sdk.ConceptDescriptionRepositoryClient();
  const discovery = new sdk.AasDiscoveryClient();
  const registry = new sdk.AasRegistryClient();

  const shell = core(jsonization.assetAdministrationShellFromJsonable(given.shell));
  const submodel = core(jsonization.submodelFromJsonable(given.submodel));
  const concept = core(jsonization.conceptDescriptionFromJsonable(given.concept));
  const aasIdentifier = shell.id, submodelIdentifier = submodel.id;
  const at = { configuration, submodelIdentifier };

  await step('postShell', shells.postAssetAdministrationShell({ configuration, assetAdministrationShell: shell }), bare);
  await step('postShellAgain', shells.postAssetAdministrationShell({ configuration, assetAdministrationShell: shell }));
  await step('postSubmodel', submodels.postSubmodel({ configuration, submodel }), bare);
  await step('postConcept', concepts.postConceptDescription({ configuration, conceptDescription: concept }), bare);
  await step('getShell', shells.getAssetAdministrationShellById({ configuration, aasIdentifier }), bare);
  await step('getSubmodel', submodels.getSubmodelById({ ...at, extent: 'withBlobValue' }), bare);
  const shown = await step('getSubmodelAsShown', submodels.getSubmodelById(at), (d) => jsonization.toJsonable(d).submodelElements.find((e) => e.idShort === 'bytes'));
  await step('putSubmodelBack', submodels.putSubmodelById({ ...at, submodel: shown }), () => null);
  await step('getSubmodelAfterPut', submodels.getSubmodelById({ ...at, extent: 'withBlobValue' }), bare);
  await step('listShells', shells.getAllAssetAdministrationShells({ configuration, limit: 1, assetIds: [{ name: 'serial', value: 'P-1' }] }), (d) => d.result.map((s) => s.id));
  await step('listSubmodels', submodels.getAllSubmodels({ configuration, limit: 5 }), (d) => d.result.map((s) => s.id));
  await step('listBySemanticId', submodels.getAllSubmodels({ configuration, semanticId: 'urn:semantic:data' }), (d) => d.result.map((s) => s.id));
  await step('listElements', submodels.getAllSubmodelElements({ ...at, limit: 3 }), (d) => d.result.map((e) => e.idShort));
  await step('getElement', submodels.getSubmodelElementByPath({ ...at, idShortPath: 'group.rows[1].cell' }), bare);
  await step('getValue', submodels.getSubmodelByIdValueOnly(at), (d) => d.group);
  await step('patchValue', submodels.patchSubmodelElementByPathValueOnly({ ...at, idShortPath: 'group.depth', submodelElementValue: 5 }));
  await step('getElementThroughShell', shells.getSubmodelElementByPathAasRepository({ configuration, aasIdentifier, submodelIdentifier, idShortPath: 'group.depth' }), bare);
  await step('refs', shells.getAllSubmodelReferences({ configuration, aasIdentifier }), (d) => d.result.length);
  await step('putThumbnail', shells.putThumbnail({ configuration, aasIdentifier, fileName: 'p.png', file: new Blob(['picture'], { type: 'image/png' }) }));
  await step('getThumbnail', shells.getThumbnail({ configuration, aasIdentifier }).then(async (a) => (a.success ? { success: true, data: await a.data.text() } : a)));
  await step('link', discovery.postAllAssetLinksById({ configuration, aasIdentifier: 'urn:far', specificAssetId: [{ name: 'serial', value: 'F-1' }].map((o) => core(jsonization.specificAssetIdFromJsonable(o))) }), (d) => d.length);
  await step('lookup', discovery.getAllAssetAdministrationShellIdsByAssetLink({ configuration, assetIds: [{ name: 'serial', value: 'F-1' }] }), (d) => d.result);
  await step('listDescriptors', registry.getAllAssetAdministrationShellDescriptors({ configuration }), (d) => d.result.length);
  await step('missing', submodels.getSubmodelById({ configuration, submodelIdentifier: 'urn:none' }));
  await step('deleteSubmodel', submodels.deleteSubmodelById(at));
}

main().catch((e) => {
  console.error(e);
  process.exit(1);
});
