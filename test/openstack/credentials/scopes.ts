// Tokens by their scope and their roles.

import { userToken } from './calls.ts';
import { disable, grant, inProject, type Realm, rename } from './realm.ts';
import type { Kind } from './table.ts';

const withRole = (role: string): Kind => ({
  what: `\`${role}\` of a project`,
  make: async (realm) => userToken(await realm.token(await realm.person([role]))),
});

export const scopes: readonly Kind[] = [
  ...['reader', 'member', 'manager', 'admin', 'service'].map(withRole),
  {
    what: 'a role of a project that no rule names',
    make: async (realm) => userToken(await realm.token(await realm.person(['auditor']))),
  },
  {
    what: '`member` of another project',
    make: async (realm) => {
      const projectId = await realm.project();
      const person = await realm.person(['member'], projectId);
      return userToken(await realm.token(person, inProject(projectId)));
    },
  },
  {
    what: 'unscoped, of an administrator',
    make: async (realm) => userToken(await realm.token(await realm.person(['admin']), 'unscoped')),
  },
  {
    what: '`admin` of a domain',
    make: async (realm) => {
      const id = await realm.domain();
      const person = await realm.person([]);
      await grant(realm, `/domains/${id}/users/${person.id}`, 'admin');
      return userToken(await realm.token(person, { domain: { id } }));
    },
  },
  ...['admin', 'reader'].map(
    (role): Kind => ({
      what: `\`${role}\` of the system`,
      make: async (realm) => {
        const person = await realm.person([]);
        await grant(realm, `/system/users/${person.id}`, role);
        return userToken(await realm.token(person, { system: { all: true } }));
      },
    }),
  ),
  {
    what: 'a trust with `member`',
    make: async (realm) => userToken((await entrust(realm)).token),
  },
  {
    what: 'a trust that is deleted',
    make: async (realm) => {
      const { token, trustorsToken, id } = await entrust(realm);
      await realm.as(trustorsToken).ask('DELETE', `/OS-TRUST/trusts/${id}`);
      return userToken(token);
    },
  },
  {
    what: 'a trust whose role is taken away',
    make: async (realm) => {
      const { token, trustor } = await entrust(realm);
      const path = `/projects/${realm.projectId}/users/${trustor.id}/roles`;
      await realm.keystone.ask('DELETE', `${path}/${await realm.roleId('member')}`);
      return userToken(token);
    },
  },
  {
    what: 'a trust of a user who is disabled',
    make: async (realm) => {
      const { token, trustor } = await entrust(realm);
      await disable(realm, 'user', trustor.id);
      return userToken(token);
    },
  },
  ...[
    ['admin', 'Admin'],
    ['member', 'Member'],
  ].map(
    ([role = '', spelled = '']): Kind => ({
      what: `\`${spelled}\` of a project`,
      make: async (realm) => {
        const person = await realm.person([role]);
        await rename(realm, role, spelled);
        return userToken(await realm.token(person));
      },
      repair: (realm) => rename(realm, role, role),
    }),
  ),
];

async function entrust(realm: Realm) {
  const [trustor, trustee] = [await realm.person(), await realm.person([])];
  const token = await realm.token(trustor);
  const trust = {
    trustor_user_id: trustor.id,
    trustee_user_id: trustee.id,
    project_id: realm.projectId,
    impersonation: false,
    roles: [{ name: 'member' }],
  };
  const { id } = (await realm.as(token).ask('POST', '/OS-TRUST/trusts', { trust })).body.trust;
  const scope = { 'OS-TRUST:trust': { id } };
  return { id, trustor, trustorsToken: token, token: await realm.token(trustee, scope) };
}
