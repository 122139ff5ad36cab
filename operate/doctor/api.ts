// Checks the API from outside.

import type { HttpAnswer } from '#core/clients/http.ts';
import { CheckFailed } from '#core/command-line/checks.ts';
import { listedEndpoint } from './catalog.ts';
import type { Check, CheckContext } from './check.ts';

const remedy =
  'Read the access log and the log of the function; if there is no answer, check the DNS name and the stack.';

const noInstance = '00000000-0000-0000-0000-000000000000';

export const apiChecks: readonly Check[] = [
  {
    name: 'the API answers',
    remedy,
    look: async (patient) => {
      const base = await findBase(patient);
      const root = new URL(base).origin;
      for (const url of [`${root}/`, base]) {
        const { status } = await ask(patient, url, {});
        if (status !== 200) throw new CheckFailed(`${url} answers ${status}.`, remedy);
      }
      return base;
    },
  },
  {
    name: 'the API answers 401 without a token and names Keystone',
    remedy,
    look: async (patient) => {
      const { status, headers } = await ask(patient, `${await findBase(patient)}/devices`, {});
      const { publicUrl } = patient.deps.settings.keystone;
      const expected = `Keystone uri="${publicUrl}"`;
      const said = headers.get('www-authenticate');
      if (status !== 401) throw new CheckFailed(`The API answers ${status}, not 401.`, remedy);
      if (said === expected) return said;
      throw new CheckFailed(
        `WWW-Authenticate is ${said ?? 'missing'}, not ${expected}.`,
        'The URL belongs to another stack, or keystonePublicUrl has changed: deploy again.',
      );
    },
  },
  {
    name: 'the API accepts our own token',
    remedy: `Its functions may not reach Keystone, or have an old password. ${remedy}`,
    look: async (patient) => {
      const token = await patient.deps.clients.keystone.ownToken();
      const url = `${await findBase(patient)}/device_profiles`;
      const { status } = await ask(patient, url, { 'X-Auth-Token': token });
      if (status === 200) return 'GET /device_profiles answers 200';
      throw new CheckFailed(
        `GET /device_profiles answers ${status}.`,
        "Its functions may not reach Keystone, or policy takes away admin's rights.",
      );
    },
  },
  {
    name: "the catalog's endpoint answers Nova's call",
    remedy,
    look: askAsNova,
  },
];

/** Nova appends the path to what the catalog has, and looks for no version. */
async function askAsNova(context: CheckContext): Promise<string> {
  const token = await context.deps.clients.keystone.ownToken();
  const url = `${await listedEndpoint(context)}/accelerator_requests?instance=${noInstance}`;
  const { status, body } = await ask(context, url, { 'X-Auth-Token': token });
  if (status === 200 && typeof body === 'object') return url;
  throw new CheckFailed(
    `GET ${url} answers ${status}.`,
    'Register the endpoint that the deployment printed: cyborg-ops keystone register --update.',
  );
}

async function findBase(context: CheckContext): Promise<string> {
  return (context.url ?? (await listedEndpoint(context))).replace(/\/+$/, '');
}

function ask(
  { http }: CheckContext,
  url: string,
  headers: Readonly<Record<string, string>>,
): Promise<HttpAnswer> {
  return http({ service: 'accelerator', method: 'GET', url, headers });
}
