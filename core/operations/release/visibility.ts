import { type Keystone, ownIdentity } from '../../clients/keystone.ts';
import type { Nova } from '../../clients/nova.ts';

/** A server may be deleted between the list and the look at it. */
const looksMax = 5;

/** `none`: Nova lists no server at all. */
export type Visibility = 'seen' | 'hidden' | 'none';

/**
 * Whether Nova lets us see a server of another project: to eyes that see their own only, everybody
 * else's are gone. Asked is what says of an instance that it is gone: by a rule of its policy Nova
 * may list the servers of all to somebody to whom it answers 404 for each of them.
 */
export async function checkVisibility(clients: {
  readonly keystone: Keystone;
  readonly nova: Nova;
}): Promise<Visibility> {
  const { keystone, nova } = clients;
  const own = await ownIdentity(keystone);
  const servers = await nova.someServers();
  if (servers.length === 0) return 'none';
  if (own?.projectId === undefined) return 'hidden';
  const others = servers.filter(({ projectId }) => projectId !== own.projectId);
  for (const { uuid } of others.slice(0, looksMax)) {
    if ((await nova.server(uuid)) !== 'not-found') return 'seen';
  }
  return 'hidden';
}
