// A service token beside the token of a member.

import { logIn } from '#test/openstack/users.ts';
import { userToken } from './calls.ts';
import { expiredTokens } from './ended.ts';
import { disable, grant, type Realm, rename, revoke } from './realm.ts';
import type { Kind } from './table.ts';

const beside = (
  what: string,
  make: (realm: Realm) => Promise<string>,
  repair?: Kind['repair'],
): Kind => ({
  what: `${what}, as service token`,
  make: async (realm) => [
    ...userToken(await realm.token(realm.member)),
    ['X-Service-Token', await make(realm)],
  ],
  ...(repair && { repair }),
});

const novaToken = ({ stage }: Realm) =>
  logIn(stage.cloud.plan, { name: 'nova', project: 'service' });

export const serviceTokens: readonly Kind[] = [
  beside("Nova's", novaToken),
  beside('an empty one', async () => ''),
  beside('any text', async () => 'nope'),
  beside("an administrator's, without role `service`", async (realm) =>
    realm.token(await realm.person(['admin'])),
  ),
  beside('unscoped', async (realm) => realm.token(await realm.person(['service']), 'unscoped')),
  beside('of a domain', async (realm) => {
    const id = await realm.domain();
    const person = await realm.person([]);
    await grant(realm, `/domains/${id}/users/${person.id}`, 'service');
    return realm.token(person, { domain: { id } });
  }),
  beside('of the system', async (realm) => {
    const person = await realm.person([]);
    await grant(realm, `/system/users/${person.id}`, 'service');
    return realm.token(person, { system: { all: true } });
  }),
  beside('expired', async (realm) => (await expiredTokens(realm)).service),
  beside('a user who is disabled', async (realm) => {
    const person = await realm.person(['service']);
    const token = await realm.token(person);
    await disable(realm, 'user', person.id);
    return token;
  }),
  beside(
    'role `Service`',
    async (realm) => {
      const person = await realm.person(['service']);
      await rename(realm, 'service', 'Service');
      return realm.token(person);
    },
    (realm) => rename(realm, 'service', 'service'),
  ),
  {
    what: "a service token without a user's",
    make: async (realm) => [['X-Service-Token', await novaToken(realm)]],
  },
  {
    what: "Nova's service token beside an expired one",
    make: async (realm) => [
      ...userToken((await expiredTokens(realm)).admin),
      ['X-Service-Token', await novaToken(realm)],
    ],
  },
  {
    what: "Nova's service token beside a revoked one",
    make: async (realm) => {
      const token = await realm.token(realm.member);
      await revoke(realm, token);
      return [...userToken(token), ['X-Service-Token', await novaToken(realm)]];
    },
  },
  {
    what: "Nova's service token beside that of a disabled user",
    make: async (realm) => {
      const person = await realm.person();
      const token = await realm.token(person);
      await disable(realm, 'user', person.id);
      return [...userToken(token), ['X-Service-Token', await novaToken(realm)]];
    },
  },
  {
    what: "Nova's service token beside an unscoped one",
    make: async (realm) => [
      ...userToken(await realm.token(realm.member, 'unscoped')),
      ['X-Service-Token', await novaToken(realm)],
    ],
  },
  {
    what: "Nova's service token beside an unknown one",
    make: async (realm) => [...userToken('nope'), ['X-Service-Token', await novaToken(realm)]],
  },
  {
    what: 'an expired service token beside an expired one',
    make: async (realm) => {
      const { admin, service } = await expiredTokens(realm);
      return [...userToken(admin), ['X-Service-Token', service]];
    },
  },
];
