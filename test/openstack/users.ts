// The users of the cloud, and clients of its services in their names.

import { type Client, restClient } from '#test/support/suites/rest.ts';
import { type CloudPlan, keystoneUrl } from './install/configuration.ts';

export interface Services {
  readonly keystone: Client;
  readonly placement: Client;
  readonly nova: Client;
  readonly glance: Client;
  readonly network: Client;
  readonly accelerator: Client;
}

export interface User {
  readonly name: string;
  readonly project: string;
}

export const admin: User = { name: 'admin', project: 'admin' };
export const demo: User = { name: 'demo', project: 'demo' };
/** A user of an unrelated tenant. */
export const other: User = { name: 'other', project: 'other' };

/** The variables with which the `openstack` command logs in. */
export function variablesOf(plan: CloudPlan, user: User): Record<string, string> {
  return {
    OS_AUTH_TYPE: 'password',
    OS_AUTH_URL: keystoneUrl(plan),
    OS_IDENTITY_API_VERSION: '3',
    OS_USERNAME: user.name,
    OS_PASSWORD: plan.password,
    OS_PROJECT_NAME: user.project,
    OS_USER_DOMAIN_NAME: 'Default',
    OS_PROJECT_DOMAIN_NAME: 'Default',
    OS_REGION_NAME: plan.region,
    OS_COMPUTE_API_VERSION: '2.82',
    // The latest version that Debian's client knows and that has trees.
    OS_PLACEMENT_API_VERSION: '1.29',
  };
}

/** @param at the second Keystone, which has the same users */
export async function logIn(plan: CloudPlan, user: User, at = keystoneUrl(plan)): Promise<string> {
  const domain = { name: 'Default' };
  const reply = await restClient(at, {}).ask('POST', '/auth/tokens', {
    auth: {
      identity: {
        methods: ['password'],
        password: { user: { name: user.name, domain, password: plan.password } },
      },
      scope: { project: { name: user.project, domain } },
    },
  });
  return reply.headers.get('X-Subject-Token') ?? '';
}

export async function servicesFor(
  plan: CloudPlan,
  user: User,
  acceleratorUrl: string,
): Promise<Services> {
  const token = { 'X-Auth-Token': await logIn(plan, user) };
  const at = (port: number, path = '') => `http://127.0.0.1:${port}${path}`;
  const { ports } = plan;
  const version = (text: string) => ({ ...token, 'OpenStack-API-Version': text });
  return {
    keystone: restClient(keystoneUrl(plan), token),
    placement: restClient(at(ports.placement), version('placement 1.36')),
    nova: restClient(at(ports.nova, '/v2.1'), version('compute 2.82')),
    glance: restClient(at(ports.glance), token),
    network: restClient(at(ports.network, '/v2.0'), token),
    accelerator: restClient(acceleratorUrl, version('accelerator 2.0')),
  };
}

type Kind = 'project' | 'user' | 'role' | 'service' | 'endpoint';

/** Creates the services with users and endpoints, and two tenants: a cloud before Cyborg. */
export async function furnish(plan: CloudPlan): Promise<void> {
  const { keystone } = await servicesFor(plan, admin, '');
  const make = async (kind: Kind, body: object): Promise<string> =>
    (await keystone.ask('POST', `/${kind}s`, { [kind]: body })).body[kind].id;
  const existing = (await keystone.ask('GET', '/roles')).body.roles;
  const roles = new Map(existing.map(({ id, name }) => [name, id]));
  if (!roles.has('service')) roles.set('service', await make('role', { name: 'service' }));
  // Keystone creates the role itself since 2023.2, and Nova's current policy requires it.
  if (!roles.has('manager')) {
    const manager = await make('role', { name: 'manager' });
    roles.set('manager', manager);
    await keystone.ask('PUT', `/roles/${roles.get('admin')}/implies/${manager}`);
    await keystone.ask('PUT', `/roles/${manager}/implies/${roles.get('member')}`);
  }
  const projects = new Map<string, string>();
  for (const name of ['service', 'demo', 'other']) {
    projects.set(name, await make('project', { name, domain_id: 'default' }));
  }
  const addUser = async (name: string, project: string, granted: readonly string[]) => {
    const { password } = plan;
    const id = await make('user', { name, domain_id: 'default', password });
    for (const role of granted) {
      const of = `/projects/${projects.get(project)}/users/${id}/roles/${roles.get(role)}`;
      await keystone.ask('PUT', of);
    }
  };
  for (const name of ['nova', 'placement', 'glance', 'neutron']) {
    await addUser(name, 'service', ['admin', 'service']);
  }
  await addUser('demo', 'demo', ['member']);
  await addUser('other', 'other', ['member']);
  const { ports } = plan;
  const catalog = [
    ['compute', `http://127.0.0.1:${ports.nova}/v2.1`],
    ['placement', `http://127.0.0.1:${ports.placement}`],
    ['image', `http://127.0.0.1:${ports.glance}`],
    ['network', `http://127.0.0.1:${ports.network}`],
  ] as const;
  for (const [type, url] of catalog) {
    const service_id = await make('service', { name: type, type });
    for (const face of ['public', 'internal']) {
      await make('endpoint', { service_id, interface: face, url, region_id: plan.region });
    }
  }
}
