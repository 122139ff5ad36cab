// Tokens whose validity has ended after Keystone had made them.

import { eventually } from '#test/support/suites/rest.ts';
import { userToken } from './calls.ts';
import { disable, inProject, type Person, type Realm, revoke } from './realm.ts';
import type { Kind } from './table.ts';

const afterwards = (
  what: string,
  end: (realm: Realm, person: Person, token: string) => Promise<unknown>,
): Kind => ({
  what,
  make: async (realm) => {
    const person = await realm.person(['admin']);
    const token = await realm.token(person);
    await end(realm, person, token);
    return userToken(token);
  },
});

export const ended: readonly Kind[] = [
  { what: 'expired', make: async (realm) => userToken((await expiredTokens(realm)).admin) },
  afterwards('revoked', (realm, _, token) => revoke(realm, token)),
  afterwards('a user who is disabled', (realm, { id }) => disable(realm, 'user', id)),
  afterwards('a user who is deleted', (realm, { id }) =>
    realm.keystone.ask('DELETE', `/users/${id}`),
  ),
  afterwards('a user with a new password', (realm, { id }) =>
    realm.keystone.ask('PATCH', `/users/${id}`, { user: { password: 'another one' } }),
  ),
  afterwards('the only role is taken away', async (realm, { id }) => {
    const path = `/projects/${realm.projectId}/users/${id}/roles`;
    await realm.keystone.ask('DELETE', `${path}/${await realm.roleId('admin')}`);
  }),
  afterwards('role `admin` is replaced by `reader`', async (realm, { id }) => {
    const path = `/projects/${realm.projectId}/users/${id}/roles`;
    await realm.keystone.ask('PUT', `${path}/${await realm.roleId('reader')}`);
    await realm.keystone.ask('DELETE', `${path}/${await realm.roleId('admin')}`);
  }),
  {
    what: 'a project that is disabled',
    make: async (realm) => {
      const { id, token } = await ownProject(realm);
      await disable(realm, 'project', id);
      return userToken(token);
    },
  },
  {
    what: 'a project that is deleted',
    make: async (realm) => {
      const { id, token } = await ownProject(realm);
      await realm.keystone.ask('DELETE', `/projects/${id}`);
      return userToken(token);
    },
  },
  {
    what: 'a domain that is disabled',
    make: async (realm) => {
      const domain_id = await realm.domain();
      const project = { name: 'suite', domain_id };
      const { id } = (await realm.keystone.ask('POST', '/projects', { project })).body.project;
      const token = await realm.token(await realm.person(['member'], id), inProject(id));
      await disable(realm, 'domain', domain_id);
      return userToken(token);
    },
  },
];

/** Tokens of an administrator and of a service, which have expired. */
export function expiredTokens(realm: Realm): Promise<Expired> {
  made ??= makeExpired(realm);
  return made;
}

interface Expired {
  readonly admin: string;
  readonly service: string;
}
let made: Promise<Expired> | undefined;

async function makeExpired(realm: Realm): Promise<Expired> {
  const at = await realm.stage.briefKeystone();
  const make = async (role: string) => realm.token(await realm.person([role]), undefined, at);
  const tokens = { admin: await make('admin'), service: await make('service') };
  await eventually(
    () => realm.keystone.with({ 'X-Subject-Token': tokens.service }).try('GET', '/auth/tokens'),
    ({ status }) => status === 404,
  );
  return tokens;
}

async function ownProject(realm: Realm) {
  const id = await realm.project();
  const person = await realm.person(['admin'], id);
  return { id, token: await realm.token(person, inProject(id)) };
}
