import { type Keystone, ownIdentity } from '#core/clients/openstack/keystone/keystone.ts';
import type { Nova } from '#core/clients/openstack/nova.ts';

/** Servers to try: a listed server may be deleted before it is read. */
const looksMax = 5;

/** `none`: Nova lists no server at all. */
type Visibility = 'seen' | 'hidden' | 'none';

/**
 * Whether Nova shows servers of other projects: otherwise it answers 404 for each of them, as if
 * they were gone. A list is no proof: Nova's policy may allow the list of all servers and still
 * answer 404 for each server. So a listed server is read by its uuid.
 */
export async function checkVisibility(clients: {
  readonly keystone: Keystone;
  readonly nova: Nova;
}): Promise<Visibility> {
  const { keystone, nova } = clients;
  const identity = await ownIdentity(keystone);
  const servers = await nova.someServers();
  if (servers.length === 0) return 'none';
  if (identity?.projectId === undefined) return 'hidden';
  const others = servers.filter(({ projectId }) => projectId !== identity.projectId);
  for (const { uuid } of others.slice(0, looksMax)) {
    if ((await nova.server(uuid)) !== 'not-found') return 'seen';
  }
  return 'hidden';
}
