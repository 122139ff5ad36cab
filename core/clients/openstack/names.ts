// Names of servers, projects and users, asked with the token of the viewer: Nova and Keystone
// decide what it may see. A name is a convenience, so a service that does not answer has none.

import * as z from 'zod';
import type { Http } from '#core/clients/http.ts';
import type { ServiceIdentity } from './service-calls.ts';
import { getAs, keepAnswers, type Viewer } from './viewer-answers.ts';

export const namedKinds = ['servers', 'projects', 'users'] as const;
export type NamedKind = (typeof namedKinds)[number];

export interface Named {
  readonly kind: NamedKind;
  readonly id: string;
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

export function createFindName({ http, identity, identityUrl, clock }: NamesOptions): FindName {
  const keep = keepAnswers<string | undefined>(clock);

  async function ask({ kind, id }: Named, viewer: Viewer): Promise<string | undefined> {
    const isServer = kind === 'servers';
    const base = isServer ? await identity.endpoint('compute') : identityUrl;
    const get = async (path: string) => {
      const answer = await getAs(viewer, http, isServer ? 'compute' : 'identity', base + path);
      const { data = {} } = answerBody.safeParse(answer.status === 200 ? answer.body : undefined);
      return { status: answer.status, ...data };
    };
    const { status, server, project, user } = await get(`/${kind}/${encodeURIComponent(id)}`);
    if (!isServer || status !== 404) return (server ?? project ?? user)?.name;
    // Nova keeps the row of a deleted server until its database is archived. It shows the row to
    // administrators, and ignores both filters in the requests of others.
    const query = new URLSearchParams({ all_tenants: '1', deleted: 'true', uuid: id });
    const { servers = [] } = await get(`/servers?${query}`);
    return servers.find((each) => each.id === id)?.name;
  }

  return (named, viewer) => keep([named.kind, named.id], viewer, () => ask(named, viewer));
}

const something = z.object({ name: z.string().max(255) }).optional();
const answerBody = z.object({
  server: something,
  project: something,
  user: something,
  servers: z.array(z.object({ id: z.string(), name: z.string().max(255) })).optional(),
});
