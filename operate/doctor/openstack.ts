// Checks Keystone, its catalog, and the OpenStack services that the stack calls.

import { givenPassword } from '#core/clients/aws/password.ts';
import { readSecret, type SecretStage } from '#core/clients/aws/secrets.ts';
import { RequestRefused } from '#core/clients/http.ts';
import { createKeystone, ownIdentity } from '#core/clients/openstack/keystone/keystone.ts';
import { LoginRefused } from '#core/clients/openstack/keystone/own-token.ts';
import { CheckFailed, Undetermined } from '#core/command-line/checks.ts';
import { refuseSeveralRegions } from '#core/command-line/region-check.ts';
import { hasRole } from '#core/domain/roles.ts';
import { silentLog } from '#core/log.ts';
import { checkVisibility } from '#core/operations/release/reap/visibility.ts';
import { endpointFault } from '#operate/ops/keystone/endpoint-form.ts';
import { listedEndpoint } from './catalog.ts';
import type { Check, CheckContext } from './check.ts';

const asAdmin =
  'Give the service user the roles admin and service in its project; see docs/deploy.md.';
const inCatalog = 'Add the service to the catalog, for the interface and region of the settings.';

export const openstackChecks: readonly Check[] = [
  {
    name: 'Keystone accepts the service user',
    remedy: 'Check keystoneUrl, the user, its project and the password in Secrets Manager.',
    look: async ({ deps }) => {
      const us = await ownIdentity(deps.clients.keystone);
      if (us === undefined)
        throw new CheckFailed('Keystone does not know its own token.', 'Check Keystone.');
      if (us.projectId === undefined) throw new CheckFailed('The token has no project.', asAdmin);
      const missing = ['admin', 'service'].filter((role) => !hasRole(us.roles, [role]));
      if (missing.length > 0)
        throw new CheckFailed(`The user lacks ${missing.join(' and ')}.`, asAdmin);
      return `${deps.settings.keystone.username} at ${deps.settings.keystone.url}`;
    },
  },
  {
    name: 'the secret has the password of the service user',
    remedy:
      'Check passwordSecret, passwordField, and the permission secretsmanager:GetSecretValue.',
    look: async (context) => {
      const { passwordSecret } = context.deps.settings.keystone;
      if (!passwordSecret) throw new Undetermined('The password is in the environment.');
      if (await isAccepted(context, 'AWSCURRENT')) return passwordSecret.id;
      const isNext = await isAccepted(context, 'AWSPENDING');
      throw new CheckFailed(
        `Keystone refuses the current version of ${passwordSecret.id}${isNext ? ', and accepts the pending one' : ''}.`,
        isNext
          ? 'End the rotation: move AWSCURRENT to the pending version; see Rotate the password in docs/deploy.md.'
          : 'Put the password of Keystone into the secret.',
      );
    },
  },
  {
    name: 'the catalog leaves no choice of regions',
    remedy: 'Check the catalog of Keystone.',
    look: async ({ deps }) => {
      await refuseSeveralRegions(deps.clients.keystone);
      const { regionName } = deps.settings.keystone;
      return regionName ?? 'one region of each service, or its URL in the settings';
    },
  },
  {
    name: 'the catalog has the accelerator service',
    remedy: inCatalog,
    look: async (context) => {
      const { url } = context;
      const listed = await listedEndpoint(context);
      const fault = endpointFault(listed);
      if (fault !== undefined) {
        throw new CheckFailed(
          `The endpoint ${listed} of the catalog ${fault}`,
          'cyborg-ops keystone register --update --url <that address>',
        );
      }
      if (url !== undefined && plain(listed) !== plain(url)) {
        throw new CheckFailed(
          `The catalog has ${listed}, and the stack is at ${url}.`,
          'Set the endpoints of service type accelerator to the output Endpoint of the stack.',
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
    remedy: `${inCatalog} Nova of Victoria or later is needed, and an admin role.`,
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
    name: 'Nova shows servers of other projects',
    remedy: asAdmin,
    look: async ({ deps }) => {
      const sight = await checkVisibility(deps.clients);
      if (sight === 'none') throw new Undetermined('the cloud has no server yet');
      if (sight === 'seen') return 'the reaper can work';
      throw new CheckFailed('Nova shows no servers except those of our own project.', asAdmin);
    },
  },
  {
    name: 'Glance answers',
    remedy: `${inCatalog} Programming needs Glance.`,
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
      if (!deps.settings.requireServiceToken) return 'not required: requireServiceToken is false';
      throw new Undetermined(
        'Set in Nova: [service_user] send_service_user_token = true, in the nova.conf of conductor, ' +
          'compute and API. Without it a bind is answered 403, and the error names the setting',
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

/** True if Keystone accepts the password of that version of the secret. */
async function isAccepted({ deps, aws }: CheckContext, stage: SecretStage): Promise<boolean> {
  const { keystone } = deps.settings;
  const { passwordSecret: name } = keystone;
  const password = name && (await readSecret(name, stage, aws.dynamoDb.config));
  if (password === undefined) return false;
  const passwords = givenPassword(password);
  const { clock } = deps;
  try {
    await createKeystone({ settings: keystone, passwords, clock, log: silentLog }).ownToken();
    return true;
  } catch (error) {
    if (error instanceof LoginRefused) return false;
    throw error;
  }
}
