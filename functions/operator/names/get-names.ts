import * as z from 'zod';
import { createHttp } from '#core/clients/http.ts';
import { identityUrl } from '#core/clients/openstack/keystone/own-token.ts';
import { createFindName, type FindName, namedKinds } from '#core/clients/openstack/names.ts';
import { namesAnswer } from '#core/contracts/api/openstack.ts';
import type { Deps } from '#core/deps.ts';
import { InvalidInput } from '#core/domain/errors.ts';
import { forEachAtOnce } from '#core/operations/for-each-at-once.ts';
import { action } from '#functions/http/action.ts';
import { userTokenOf } from '#functions/http/keystone.ts';

/** Each is a request to Nova or Keystone. */
const idsMax = 50;
const asksAtOnce = 10;

const ids = z
  .string()
  .regex(/^[A-Za-z0-9_-]{1,64}(,[A-Za-z0-9_-]{1,64})*$/, 'must be ids with commas between them')
  .optional();

const query = z.strictObject({ servers: ids, projects: ids, users: ids });
type NamesQuery = z.infer<typeof query>;

/** One cache per Lambda container; it keeps what each viewer may see apart. */
let findName: FindName | undefined;

export const getNames = action<NamesQuery>(
  { query: query as z.ZodType<NamesQuery>, answers: { 200: namesAnswer } },
  async ({ deps, caller, headers, query: asked }) => {
    findName ??= createNames(deps);
    const find = findName;
    const requested = namedKinds.flatMap((kind) =>
      [...new Set(asked[kind]?.split(','))].map((id) => ({ kind, id })),
    );
    if (requested.length > idsMax) {
      throw new InvalidInput(`servers, projects and users: at most ${idsMax} ids in a request.`);
    }
    const body = { servers: {}, projects: {}, users: {} } as Record<
      (typeof namedKinds)[number],
      Record<string, string>
    >;
    const viewer = { ...caller, token: userTokenOf(headers) ?? '' };
    await forEachAtOnce(requested, asksAtOnce, async (named) => {
      const name = await find(named, viewer);
      if (name !== undefined) body[named.kind][named.id] = name;
    });
    return { body };
  },
);

function createNames({ clients, settings, clock }: Deps): FindName {
  return createFindName({
    http: createHttp(),
    identity: clients.keystone,
    identityUrl: identityUrl(settings.keystone),
    clock,
  });
}
