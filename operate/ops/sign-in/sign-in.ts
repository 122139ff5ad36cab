// A login at Keystone, and the service's endpoint from the catalog that comes with the token.

import * as z from 'zod';
import { type Http, type HttpAnswer, type HttpRequest, readBody } from '#core/clients/http.ts';
import { present } from '#core/shapes/derive/present.ts';
import type { Session } from '#operate/ops/api.ts';
import { CommandFailed, exitCodes } from '#operate/ops/verb.ts';
import type { Credentials } from './credentials.ts';

const serviceType = 'accelerator';

const tokenBody = z.looseObject({
  token: z.looseObject({
    catalog: z
      .array(
        z.looseObject({
          type: z.string(),
          endpoints: z.array(
            z.looseObject({
              interface: z.string(),
              region: z.string().nullish(),
              region_id: z.string().nullish(),
              url: z.string(),
            }),
          ),
        }),
      )
      .default([]),
  }),
});
type Catalog = z.infer<typeof tokenBody>['token']['catalog'];

/** @throws CommandFailed, ServiceUnavailable */
export async function signIn(http: Http, credentials: Credentials): Promise<Session> {
  const { readyToken, endpoint } = credentials;
  if (readyToken !== undefined && endpoint !== undefined) return { token: readyToken, endpoint };
  const { token, catalog } = await logIn(http, credentials);
  return { token, endpoint: credentials.endpoint ?? findEndpoint(catalog, credentials) };
}

/** The URL of Keystone's API of version 3. */
export function toIdentityUrl(authUrl: string): string {
  return `${authUrl.replace(/\/+$/, '').replace(/\/v(2\.0|3)$/, '')}/v3`;
}

/** @throws CommandFailed, ServiceUnavailable */
export async function logIn(
  http: Http,
  credentials: Credentials,
): Promise<{ readonly token: string; readonly catalog: Catalog }> {
  const { identity, scope } = credentials;
  const request: HttpRequest = {
    service: 'identity',
    method: 'POST',
    url: `${toIdentityUrl(credentials.authUrl)}/auth/tokens`,
    body: { auth: { identity, ...present({ scope }) } },
  };
  const answer = await http(request);
  if (answer.status !== 200 && answer.status !== 201) throw refusal(credentials, answer);
  const token = answer.headers.get('x-subject-token');
  if (token === null) {
    const fault = `${credentials.authUrl} answers without a token: is it Keystone?`;
    throw new CommandFailed(exitCodes.unreachable, fault);
  }
  const { catalog } = readBody(tokenBody, request, answer).token;
  return { token, catalog };
}

/** Keystone's own sentence is not repeated: a proxy's page may hold what was sent. */
function refusal(credentials: Credentials, { status }: HttpAnswer): CommandFailed {
  const { authUrl, identity } = credentials;
  if (status === 404) {
    const fault = `${authUrl} has no /v3/auth/tokens: OS_AUTH_URL must be Keystone's URL.`;
    return new CommandFailed(exitCodes.unreachable, fault);
  }
  const [method = ''] = identity.methods;
  const faults: Readonly<Record<string, string>> = {
    password: 'user, password and project',
    token: 'token and project',
    application_credential: 'application credential',
  };
  return new CommandFailed(
    exitCodes.notAllowed,
    `Keystone at ${authUrl} refuses the sign-in (${status}): check ${faults[method]}.`,
  );
}

function findEndpoint(catalog: Catalog, credentials: Credentials): string {
  const { region, interface: face } = credentials;
  const endpoints = catalog
    .filter(({ type }) => type === serviceType)
    .flatMap((each) => each.endpoints);
  const endpoint = endpoints.find(
    (each) =>
      each.interface === face &&
      (region === undefined || [each.region, each.region_id].includes(region)),
  );
  if (endpoint) return endpoint.url;
  const where = region === undefined ? '' : ` in region ${region}`;
  const other = [...new Set(endpoints.map((each) => `${each.interface} in ${each.region}`))];
  const has = other.length === 0 ? 'none' : other.join(', ');
  throw new CommandFailed(
    exitCodes.unreachable,
    `The catalog has no ${face} endpoint of type ${serviceType}${where} (it has ${has}): set OS_REGION_NAME, OS_INTERFACE or --endpoint.`,
  );
}
