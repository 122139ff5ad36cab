// Users, projects and tokens that the suite makes at the real Keystone, one for each kind of
// credential, so that neither Nova nor our API has met a token before.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { keystoneUrl } from '#test/openstack/install/configuration.ts';
import type { Stage } from '#test/openstack/stage.ts';
import { type Client, type Reply, restClient } from '#test/support/suites/rest.ts';

export interface Person {
  readonly id: string;
  readonly password: string;
}

/** The part `auth.scope` of a login. */
export type Scope = object | 'unscoped';

export interface Realm {
  readonly stage: Stage;
  /** As the cloud's administrator. */
  readonly keystone: Client;
  /** In domain Default. */
  readonly projectId: string;
  /** With role `member` in the project; for credentials that do not end it. */
  readonly member: Person;
  /** Creates a user, with roles in a project: by default in the realm's. */
  person(roles?: readonly string[], projectId?: string): Promise<Person>;
  project(): Promise<string>;
  domain(): Promise<string>;
  roleId(name: string): Promise<string>;
  /** A new token; by default for the realm's project. */
  token(person: Person, scope?: Scope, at?: string): Promise<string>;
  /** A new token by another method than a password. */
  tokenBy(identity: object, scope?: Scope): Promise<string>;
  /** Keystone, with this token. */
  as(token: string): Client;
}

export const inProject = (id: string): Scope => ({ project: { id } });

export async function openRealm(stage: Stage): Promise<Realm> {
  const { keystone } = stage.admin;
  const { plan } = stage.cloud;
  const { roles } = (await keystone.ask('GET', '/roles')).body;
  const roleIds = new Map(roles.map(({ id, name }) => [name.toLowerCase(), id]));
  const name = () => `suite-${randomUUID()}`;
  const { password } = plan;

  const project = async () =>
    (await keystone.ask('POST', '/projects', { project: { name: name(), domain_id: 'default' } }))
      .body.project.id;
  const projectId = await project();

  async function roleId(role: string): Promise<string> {
    const known = roleIds.get(role.toLowerCase());
    if (known !== undefined) return known;
    const made = (await keystone.ask('POST', '/roles', { role: { name: role } })).body.role.id;
    roleIds.set(role.toLowerCase(), made);
    return made;
  }

  const person = async (granted: readonly string[] = ['member'], inside = projectId) => {
    const user = { name: name(), domain_id: 'default', password };
    const { id } = (await keystone.ask('POST', '/users', { user })).body.user;
    for (const role of granted) {
      const path = `/projects/${inside}/users/${id}/roles/${await roleId(role)}`;
      await keystone.ask('PUT', path);
    }
    return { id, password };
  };

  return {
    stage,
    keystone,
    projectId,
    member: await person(),
    project,
    roleId,
    person,
    domain: async () =>
      (await keystone.ask('POST', '/domains', { domain: { name: name() } })).body.domain.id,
    token: async (person, scope = inProject(projectId), at = keystoneUrl(plan)) => {
      const identity = { methods: ['password'], password: { user: person } };
      return issued(
        await restClient(at, {}).ask('POST', '/auth/tokens', { auth: { identity, scope } }),
      );
    },
    tokenBy: async (identity, scope) => {
      const auth = { identity, ...(scope !== undefined && { scope }) };
      return issued(await restClient(keystoneUrl(plan), {}).ask('POST', '/auth/tokens', { auth }));
    },
    as: (token) => restClient(keystoneUrl(plan), { 'X-Auth-Token': token }),
  };
}

export function issued({ headers }: Reply): string {
  const token = headers.get('X-Subject-Token');
  assert.ok(token);
  return token;
}

export async function grant(realm: Realm, to: string, role: string): Promise<void> {
  await realm.keystone.ask('PUT', `${to}/roles/${await realm.roleId(role)}`);
}

export async function disable(
  { keystone }: Realm,
  kind: 'user' | 'project' | 'domain',
  id: string,
): Promise<void> {
  await keystone.ask('PATCH', `/${kind}s/${id}`, { [kind]: { enabled: false } });
}

export async function revoke(realm: Realm, token: string): Promise<void> {
  await realm.as(token).with({ 'X-Subject-Token': token }).ask('DELETE', '/auth/tokens');
}

/** Keystone's own roles cannot be changed unless that is allowed first. */
export async function rename(realm: Realm, role: string, name: string): Promise<void> {
  const path = `/roles/${await realm.roleId(role)}`;
  await realm.keystone.ask('PATCH', path, { role: { options: { immutable: false } } });
  await realm.keystone.ask('PATCH', path, { role: { name } });
}
