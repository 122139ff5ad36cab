// The token of a federated user, which carries the groups of the user's identity provider.

import assert from 'node:assert/strict';
import { createHash, randomUUID } from 'node:crypto';
import { runSql } from '#test/openstack/install/cloud.ts';
import { inProject, issued, type Realm } from './realm.ts';

const provider = '/OS-FEDERATION/identity_providers/suite';

/** With groups as of a directory, whose ids are long; one of them has a role in the project. */
export async function longToken(realm: Realm, groups: number): Promise<string> {
  const { keystone, stage, projectId } = realm;
  const ids = Array.from({ length: groups }, () =>
    createHash('sha256').update(randomUUID()).digest('hex'),
  );
  const rows = ids.map((id) => `('${id}', 'default', '${id.slice(0, 8)}', '', '{}')`).join(', ');
  const columns = 'id, domain_id, name, description, extra';
  const statement = `INSERT INTO keystone.\`group\` (${columns}) VALUES ${rows}`;
  await runSql(stage.cloud, 'insert-groups', statement);
  const member = await realm.roleId('member');
  await keystone.ask('PUT', `/projects/${projectId}/groups/${ids[0]}/roles/${member}`);
  await keystone.ask('PUT', provider, {
    identity_provider: { enabled: true, remote_ids: ['suite'] },
  });
  const local = [{ user: { name: '{0}' } }, { groups: '{1}', domain: { id: 'default' } }];
  // A header of the request is a variable of its environment: what a login module would set.
  const remote = [{ type: 'HTTP_PERSON' }, { type: 'HTTP_GROUPS' }];
  await keystone.ask('PUT', '/OS-FEDERATION/mappings/suite', {
    mapping: { rules: [{ local, remote }] },
  });
  await keystone.ask('PUT', `${provider}/protocols/mapped`, {
    protocol: { mapping_id: 'suite', remote_id_attribute: 'HTTP_ISSUER' },
  });
  const login = keystone.with({
    Issuer: 'suite',
    Person: 'federated',
    Groups: ids.map((id) => id.slice(0, 8)).join(';'),
  });
  const unscoped = issued(await login.ask('GET', `${provider}/protocols/mapped/auth`));
  const identity = { methods: ['token'], token: { id: unscoped } };
  const token = await realm.tokenBy(identity, inProject(projectId));
  assert.ok(token.length > groups * 88, `${token.length} characters`);
  return token;
}
