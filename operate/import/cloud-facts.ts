// Asks Placement, Nova and our own tables about what Cyborg's tables name.

import type { Provider } from '#core/clients/openstack/placement.ts';
import type { ConsumerDeps } from '#core/consumer-deps.ts';
import type { InstanceUuid } from '#core/domain/ids.ts';
import { forEachAtOnce } from '#core/operations/for-each-at-once.ts';
import { checkVisibility } from '#core/operations/release/reap/visibility.ts';
import type { CyborgTables } from './cyborg-tables.ts';
import type { CloudFacts, ProviderFacts, ServerFacts } from './plan.ts';

/** Requests at once: a cloud's control plane has other work, too. */
const atOnce = 8;

/** Our user may not see what the import depends on. */
export class NotVisible extends Error {
  override readonly name = 'NotVisible';
}

/** @throws ServiceUnavailable, RequestRefused, NotVisible */
export async function readCloudFacts(
  deps: ConsumerDeps,
  tables: CyborgTables,
): Promise<CloudFacts> {
  const hostnames = [...new Set(tables.devices.map(({ hostname }) => hostname))];
  const instances = distinct(tables.arqs.map(({ instance_uuid }) => instance_uuid));
  const providerUuids = distinct(tables.deployables.map(({ rp_uuid }) => rp_uuid?.toLowerCase()));
  const { inventory, arqs } = deps.store;
  const nodes = await readNodes(deps, hostnames);
  const hosts = await Promise.all(hostnames.map((hostname) => inventory.host(hostname)));
  return {
    nodes: new Set(nodes.values()),
    providers: await readProviders(deps, nodes, providerUuids),
    servers: await readServers(deps, instances),
    stored: {
      profiles: await storedProfiles(deps, tables),
      devices: hosts.flatMap(({ devices }) => devices),
      bindings: await arqs.bindings(instances as InstanceUuid[]),
    },
  };
}

function distinct(values: readonly (string | undefined)[]): string[] {
  return [...new Set(values.filter((value) => value !== undefined))];
}

/** The uuid of each compute node's provider → its name. */
async function readNodes(deps: ConsumerDeps, hostnames: readonly string[]) {
  const nodes = new Map<string, string>();
  await forEachAtOnce(hostnames, atOnce, async (hostname) => {
    const node = await deps.clients.placement.findProviderByName(hostname);
    if (node) nodes.set(node.uuid, node.name);
  });
  return nodes;
}

async function readProviders(
  { clients: { placement } }: ConsumerDeps,
  nodes: ReadonlyMap<string, string>,
  uuids: readonly string[],
): Promise<Map<string, ProviderFacts>> {
  const byProvider = new Map<string, ProviderFacts>();
  const facts = async ({ uuid, name, rootUuid }: Provider): Promise<ProviderFacts> => ({
    name,
    node: nodes.get(rootUuid) ?? rootUuid,
    traits: (await placement.getTraits(uuid))?.traits ?? [],
    classes: Object.keys((await placement.getInventories(uuid))?.inventories ?? {}),
    consumers: Object.keys(await placement.allocationsOf(uuid)),
  });
  await forEachAtOnce(uuids, atOnce, async (uuid) => {
    const provider = await placement.getProvider(uuid);
    if (provider) byProvider.set(uuid, await facts(provider));
  });
  return byProvider;
}

/** @throws NotVisible where Nova would answer for each server that it does not exist */
async function readServers(
  deps: ConsumerDeps,
  instances: readonly string[],
): Promise<Map<string, ServerFacts>> {
  const byServer = new Map<string, ServerFacts>();
  await forEachAtOnce(instances, atOnce, async (instance) => {
    const server = await deps.clients.nova.server(instance);
    if (server !== 'not-found') byServer.set(instance, server);
  });
  const isVisible =
    byServer.size === instances.length || (await checkVisibility(deps.clients)) !== 'hidden';
  if (isVisible) return byServer;
  throw new NotVisible(
    'Nova shows our user no server of another project: the user needs the role admin in its project.',
  );
}

async function storedProfiles({ store }: ConsumerDeps, { profiles }: CyborgTables) {
  const named = await store.profiles.byNames(profiles.map(({ name }) => name));
  const others = await Promise.all(profiles.map(({ uuid }) => store.profiles.byUuid(uuid)));
  return [...named, ...others.filter((each) => each !== undefined)];
}
