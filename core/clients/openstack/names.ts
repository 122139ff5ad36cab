// Names of servers, projects and users, asked with the token of the viewer: Nova and Keystone
// decide what it may see. A name is a convenience, so a service that does not answer has none.

import * as z from 'zod';
import type { Http } from '#core/clients/http.ts';
import type { ServiceIdentity } from './service-calls.ts';

export const namedKinds = ['servers', 'projects', 'users'] as const;
export type NamedKind = (typeof namedKinds)[number];

export interface Named {
  readonly kind: NamedKind;
  readonly id: string;
}

interface Viewer {
  readonly token: string;
  /** The rights of the token follow from its user and project. */
  readonly userId: string;
  readonly projectId: string;
}

interface NamesOptions {
  readonly http: Http;
  readonly identity: Pick<ServiceIdentity, 'endpoint'>;
  /** Keystone's address, with its version. */
  readonly identityUrl: string;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
}

/** Undefined where the viewer may not see the name, or where the id is unknown. */
export type FindName = (named: Named, viewer: Viewer) => Promise<string | undefined>;

const keptMs = 5 * 60_000;
const keptMax = 5000;
/** A screen shows the ids meanwhile. */
const timeoutMs = 3000;

export function createFindName({ http, identity, identityUrl, clock }: NamesOptions): FindName {
  const kept = new Map<string, { readonly name: string | undefined; readonly untilMs: number }>();

  async function ask({ kind, id }: Named, token: string): Promise<string | undefined> {
    const base = kind === 'servers' ? await identity.endpoint('compute') : identityUrl;
    const get = async (path: string) => {
      const service = kind === 'servers' ? 'compute' : 'identity';
      const headers = { 'X-Auth-Token': token };
      const answer = await http({ service, method: 'GET', url: base + path, headers, timeoutMs });
      const { data = {} } = answerBody.safeParse(answer.status === 200 ? answer.body : undefined);
      return { status: answer.status, ...data };
    };
    const { status, server, project, user } = await get(`/${kind}/${encodeURIComponent(id)}`);
    if (kind !== 'servers' || status !== 404) return (server ?? project ?? user)?.name;
    // Nova keeps the row of a deleted server until its database is archived. It shows the row to
    // administrators, and ignores both filters in the requests of others.
    const query = new URLSearchParams({ all_tenants: '1', deleted: 'true', uuid: id });
    const { servers = [] } = await get(`/servers?${query}`);
    return servers.find((each) => each.id === id)?.name;
  }

  return async (named, { token, userId, projectId }) => {
    const key = JSON.stringify([userId, projectId, named.kind, named.id]);
    const earlier = kept.get(key);
    if (earlier && earlier.untilMs > clock()) return earlier.name;
    try {
      const name = await ask(named, token);
      kept.delete(key);
      kept.set(key, { name, untilMs: clock() + keptMs });
      const [oldest] = kept.keys();
      if (kept.size > keptMax && oldest !== undefined) kept.delete(oldest);
      return name;
    } catch {
      return undefined;
    }
  };
}

const something = z.object({ name: z.string().max(255) }).optional();
const answerBody = z.object({
  server: something,
  project: something,
  user: something,
  servers: z.array(z.object({ id: z.string(), name: z.string().max(255) })).optional(),
});
