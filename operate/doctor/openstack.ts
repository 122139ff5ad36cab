// Keystone, its catalog, and the services that we call.

import { RequestRefused } from '#core/clients/http.ts';
import { ownIdentity } from '#core/clients/keystone.ts';
import { checkVisibility } from '#core/operations/release/visibility.ts';
import { type Check, type CheckContext, CheckFailed, Undetermined } from './check.ts';

const asAdmin =
  'Give the service user the roles admin and service in its project; see docs/deploy.md.';
const inCatalog = 'Add the service to the catalog, for the interface and region of the settings.';

export const openstackChecks: readonly Check[] = [
  {
    name: 'Keystone takes the service user',
    remedy:
      'Check keystoneUrl, the user, its project and the password in Secrets Manager; then deploy again.',
    look: async ({ deps }) => {
      const us = await ownIdentity(deps.clients.keystone);
      if (us === undefined)
        throw new CheckFailed('Keystone does not know its own token.', 'Check Keystone.');
      if (us.projectId === undefined) throw new CheckFailed('The token has no project.', asAdmin);
      const missing = ['admin', 'service'].filter((role) => !us.roles.includes(role));
      if (missing.length > 0)
        throw new CheckFailed(`The user lacks ${missing.join(' and ')}.`, asAdmin);
      return `${deps.settings.keystone.username} at ${deps.settings.keystone.url}`;
    },
  },
  {
    name: 'the catalog has us',
    remedy: inCatalog,
    look: async ({ deps, url }) => {
      const listed = await deps.clients.keystone.endpoint('accelerator');
      if (url !== undefined && plain(listed) !== plain(url)) {
        throw new CheckFailed(
          `The catalog has ${listed}, and the stack is at ${url}.`,
          "Set the endpoints of service type accelerator to the stack's Endpoint.",
        );
      }
      return url === undefined ? `${listed}; not compared, as no --url was given` : listed;
    },
  },
  {
    name: 'Placement answers at 1.36',
    remedy: `${inCatalog} Placement of Train or later is needed.`,
    look: async ({ deps }) => {
      await deps.clients.placement.findProviderByName('there is none by this name');
      return deps.clients.keystone.endpoint('placement');
    },
  },
  {
    name: 'Nova answers at 2.82',
    remedy: `${inCatalog} Nova of Victoria or later is needed, and an admin's eyes.`,
    look: async ({ deps }) => {
      try {
        await deps.clients.nova.someServers();
      } catch (error) {
        const isOld = error instanceof RequestRefused && error.status === 406;
        if (isOld) throw new CheckFailed(error.message, 'Nova of Victoria or later is needed.');
        throw error;
      }
      return deps.clients.keystone.endpoint('compute');
    },
  },
  {
    name: 'Nova shows us servers of others',
    remedy: asAdmin,
    look: async ({ deps }) => {
      const sight = await checkVisibility(deps.clients);
      if (sight === 'none') throw new Undetermined('there is no server at all yet');
      if (sight === 'seen') return 'so the reaper can work';
      throw new CheckFailed("Nova shows none but our own project's, if any.", asAdmin);
    },
  },
  {
    name: 'Glance answers',
    remedy: `${inCatalog} Without it, nothing can be programmed.`,
    look: async (patient) => {
      const base = await patient.deps.clients.keystone.endpoint('image');
      const { status } = await get(patient, 'image', `${base}/v2/images?limit=1`);
      if (status !== 200) throw new CheckFailed(`Glance answers ${status} at ${base}.`, inCatalog);
      return base;
    },
  },
  {
    name: 'Nova sends service tokens',
    remedy: '',
    look: async ({ deps }) => {
      if (!deps.settings.requireServiceToken) return 'not required, by requireServiceToken';
      throw new Undetermined(
        "Nova's own setting: [service_user] send_service_user_token = true, in the nova.conf of conductor, " +
          'compute and API. Binds without it are answered 403, which says so',
      );
    },
  },
];

async function get({ deps, http }: CheckContext, service: string, url: string) {
  const token = await deps.clients.keystone.ownToken();
  return http({ service, method: 'GET', url, headers: { 'X-Auth-Token': token } });
}

export function plain(url: string): string {
  return url.replace(/\/+$/, '');
}
