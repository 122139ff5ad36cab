// OAuth2's tokens that Keystone binds to a client's certificate (RFC 8705).

import { randomUUID } from 'node:crypto';
import { generateKeyPair, issueCertificate } from '#local/aws/x509.ts';
import { keystoneUrl } from '#test/openstack/install/configuration.ts';
import { certificateHeader } from '#test/openstack/install/programs.ts';
import { userToken } from './calls.ts';
import { grant, type Realm } from './realm.ts';
import type { Kind } from './table.ts';

export const certificateTokens: readonly Kind[] = [
  {
    what: "OAuth2's token of a client certificate",
    make: async (realm) => userToken(await boundToken(realm)),
  },
  {
    what: "OAuth2's token of a client certificate in `Authorization: Bearer`",
    make: async (realm) => [['Authorization', `Bearer ${await boundToken(realm)}`]],
  },
];

/** The certificate names the user, who is a member of the realm's project. */
async function boundToken(realm: Realm): Promise<string> {
  const { keystone, projectId, stage } = realm;
  const name = `suite-${randomUUID()}`;
  const user = { name, domain_id: 'default', default_project_id: projectId };
  const { id } = (await keystone.ask('POST', '/users', { user })).body.user;
  await grant(realm, `/projects/${projectId}/users/${id}`, 'member');
  const remote = [{ type: 'SSL_CLIENT_SUBJECT_DN_CN' }];
  await keystone.try('PUT', '/OS-FEDERATION/mappings/oauth2_mapping', {
    mapping: { rules: [{ local: [{ user: { name: '{0}' } }], remote }] },
  });
  const response = await fetch(`${keystoneUrl(stage.cloud.plan)}/OS-OAUTH2/token`, {
    method: 'POST',
    headers: { [certificateHeader]: Buffer.from(certificateFor(name)).toString('base64') },
    body: new URLSearchParams({ grant_type: 'client_credentials', client_id: id }),
  });
  if (!response.ok)
    throw new Error(`Keystone answered ${response.status}: ${await response.text()}`);
  const { access_token } = (await response.json()) as { readonly access_token: string };
  return access_token;
}

function certificateFor(commonName: string): string {
  const { privateKey, publicKey } = generateKeyPair();
  const request = { commonName, kind: 'client', days: 1, publicKey } as const;
  return issueCertificate(request, { commonName: 'suite', privateKey, publicKey });
}
