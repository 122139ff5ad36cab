// Application credentials, with and without access rules.

import { randomUUID } from 'node:crypto';
import type { AccessRule } from '#core/domain/access-rules.ts';
import { keystoneUrl } from '#test/openstack/install/configuration.ts';
import { logIn } from '#test/openstack/users.ts';
import { type Headers, userToken } from './calls.ts';
import type { Person, Realm } from './realm.ts';
import type { Kind } from './table.ts';

const nova = { name: 'nova', project: 'service' };

const compute = (method: string, path: string): AccessRule => ({
  service: 'compute',
  method,
  path,
});
const accelerator = (method: string, path: string): AccessRule => ({
  service: 'accelerator',
  method,
  path,
});
const lists = [
  compute('GET', '/v2.1/servers'),
  accelerator('GET', '/accelerator/v2/accelerator_requests'),
];

const identityOnly: readonly AccessRule[] = [
  { service: 'identity', method: 'GET', path: '/v3/**' },
];

const withRules = (
  what: string,
  rules: readonly AccessRule[],
  beside: (realm: Realm) => Promise<Headers> = async () => [],
): Kind => ({
  what: `access rules: ${what}`,
  make: async (realm) => {
    const { token } = await anApplicationCredential(realm, realm.member, {
      access_rules: rules,
    });
    return [...userToken(token), ...(await beside(realm))];
  },
});

const serviceToken = async ({ stage }: Realm): Promise<Headers> => [
  ['X-Service-Token', await logIn(stage.cloud.plan, nova)],
];

export const applicationCredentials: readonly Kind[] = [
  {
    what: 'an application credential',
    make: async (realm) => userToken((await anApplicationCredential(realm, realm.member)).token),
  },
  {
    what: 'an application credential that is deleted',
    make: async (realm) => {
      const { member } = realm;
      const { id, token } = await anApplicationCredential(realm, member, { unrestricted: true });
      await realm.as(token).ask('DELETE', `/users/${member.id}/application_credentials/${id}`);
      return userToken(token);
    },
  },
  {
    what: 'an application credential whose role is taken away',
    make: async (realm) => {
      const person = await realm.person();
      const { token } = await anApplicationCredential(realm, person);
      const path = `/projects/${realm.projectId}/users/${person.id}/roles`;
      await realm.keystone.ask('DELETE', `${path}/${await realm.roleId('member')}`);
      return userToken(token);
    },
  },
  {
    what: "OAuth2's token of an application credential",
    make: async (realm) => userToken(await oauthToken(realm)),
  },
  {
    what: "OAuth2's token in `Authorization: Bearer`",
    make: async (realm) => [['Authorization', `Bearer ${await oauthToken(realm)}`]],
  },
  withRules('the path of the list', lists),
  withRules('none', []),
  withRules('the list, by another method', [
    compute('HEAD', '/v2.1/servers'),
    accelerator('HEAD', '/accelerator/v2/accelerator_requests'),
  ]),
  withRules('the list, of the other service', [
    accelerator('GET', '/v2.1/servers'),
    compute('GET', '/accelerator/v2/accelerator_requests'),
  ]),
  withRules('of Keystone only', identityOnly),
  withRules('the list without its version', [
    compute('GET', '/servers'),
    accelerator('GET', '/accelerator_requests'),
  ]),
  withRules('the list with a slash at its end', [
    compute('GET', '/v2.1/servers/'),
    accelerator('GET', '/accelerator/v2/accelerator_requests/'),
  ]),
  withRules('`*` for the last segment', [
    compute('GET', '/v2.1/*'),
    compute('POST', '/v2.1/*'),
    accelerator('GET', '/accelerator/v2/*'),
    accelerator('POST', '/accelerator/v2/*'),
  ]),
  withRules('`*` for part of a segment', [
    compute('GET', '/v2.1/*ers'),
    accelerator('GET', '/accelerator/v2/*quests'),
  ]),
  withRules('`*` for the whole path', [compute('GET', '/*'), accelerator('GET', '/*')]),
  withRules('`**` for the whole path', [compute('GET', '/**'), accelerator('GET', '/**')]),
  withRules('`**` beyond the path', [
    compute('GET', '/v2.1/servers/**'),
    accelerator('GET', '/accelerator/v2/accelerator_requests/**'),
  ]),
  withRules('`{tag}` for segments', [
    compute('GET', '/{version}/{collection}'),
    accelerator('GET', '/accelerator/{version}/{collection}'),
  ]),
  withRules('of Keystone only, with a valid service token', identityOnly, serviceToken),
  withRules('of Keystone only, with an empty service token', identityOnly, async () => [
    ['X-Service-Token', ''],
  ]),
  withRules("the list, with the user's own token as service token", lists, async (realm) => [
    ['X-Service-Token', await realm.token(realm.member)],
  ]),
];

async function anApplicationCredential(realm: Realm, person: Person, options: object = {}) {
  const application_credential = { name: randomUUID(), ...options };
  const path = `/users/${person.id}/application_credentials`;
  const { body } = await realm
    .as(await realm.token(person))
    .ask('POST', path, { application_credential });
  const { id, secret } = body.application_credential;
  const token = await realm.tokenBy({
    methods: ['application_credential'],
    application_credential: { id, secret },
  });
  return { id, secret, token };
}

async function oauthToken(realm: Realm): Promise<string> {
  const { id, secret } = await anApplicationCredential(realm, realm.member);
  const response = await fetch(`${keystoneUrl(realm.stage.cloud.plan)}/OS-OAUTH2/token`, {
    method: 'POST',
    headers: { Authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}` },
    body: new URLSearchParams({ grant_type: 'client_credentials' }),
  });
  const { access_token } = (await response.json()) as { readonly access_token: string };
  return access_token;
}
