// Signs in by the unmodified openstack client and as `cyborg-ops` does, with the same files and
// environment: both send Keystone the same body, and read the same region, interface and
// certificates.

import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { isDeepStrictEqual, promisify } from 'node:util';
import { createHttp } from '#core/clients/http.ts';
import { readCloud, readFileIfPresent } from '#operate/ops/sign-in/cloud-files.ts';
import { readCredentials } from '#operate/ops/sign-in/credentials.ts';
import { logIn } from '#operate/ops/sign-in/sign-in.ts';
import { type SignInForm, signInForms } from './sign-in-forms.ts';

const exec = promisify(execFile);

interface SignIn {
  /** What Keystone is sent. */
  readonly sent: unknown;
  readonly region: string | undefined;
  readonly interface: string;
  /** False accepts each certificate; a path has those to trust. */
  readonly verify: boolean | string;
}

type Outcome = SignIn | { readonly refusal: string };

/**
 * Calls `note` with each form, and with the difference if there is one that is not on purpose.
 *
 * @param python of the client
 */
export async function compareSignIns(
  python: string,
  note: (form: string, fault: string | undefined) => void,
): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'cyborg-sign-in-'));
  const keystone = await startKeystone();
  try {
    for (const [index, form] of signInForms.entries()) {
      const home = join(directory, String(index));
      const environment = layOut(form, home, keystone.url);
      const ours = await signIn(environment, keystone.takeRequest);
      const theirs = await askClient(python, environment, home, keystone.takeRequest);
      note(`signs in with ${form.title}`, faultOf(form, ours, theirs));
    }
  } finally {
    keystone.close();
    rmSync(directory, { recursive: true, force: true });
  }
}

/** Writes the files of the form; returns the environment. */
function layOut(form: SignInForm, home: string, url: string): Record<string, string> {
  const configuration = join(home, '.config', 'openstack');
  const root = url.replace(/\/v3$/, '');
  const atKeystone = (value: string) =>
    value.replaceAll('$KEYSTONE_ROOT', root).replaceAll('$KEYSTONE', url);
  mkdirSync(configuration, { recursive: true });
  for (const [name, content] of Object.entries(form.files ?? {})) {
    writeFileSync(join(configuration, name), atKeystone(content));
  }
  const variables = Object.entries(form.environment ?? {});
  return {
    PATH: process.env.PATH ?? '',
    HOME: home,
    ...Object.fromEntries(variables.map(([name, value]) => [name, atKeystone(value)])),
  };
}

async function signIn(
  environment: Readonly<Record<string, string>>,
  takeRequest: () => unknown,
): Promise<Outcome> {
  try {
    const cloud = readCloud(environment.OS_CLOUD, environment, readFileIfPresent);
    const credentials = readCredentials({ options: {}, environment, cloud });
    await logIn(createHttp(), credentials);
    const { region, caFile, isInsecure } = credentials;
    const verify = isInsecure ? false : (caFile ?? true);
    return { sent: takeRequest(), region, interface: credentials.interface, verify };
  } catch (error) {
    return { refusal: (error as Error).message };
  }
}

async function askClient(
  python: string,
  env: Readonly<Record<string, string>>,
  cwd: string,
  takeRequest: () => unknown,
): Promise<Outcome> {
  const program = join(import.meta.dirname, 'sign_in.py');
  const { stdout } = await exec(python, [program], { env, cwd });
  const told = JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? '') as Omit<
    SignIn,
    'auth' | 'region'
  > & {
    readonly region: string | null;
    readonly refusal?: string;
  };
  const sent = takeRequest();
  if (told.refusal !== undefined) return { refusal: told.refusal };
  const { verify } = told;
  // The client also takes the name of the catalog's own key.
  return {
    sent,
    region: told.region || undefined,
    interface: told.interface.replace(/URL$/, ''),
    verify,
  };
}

function faultOf(form: SignInForm, ours: Outcome, theirs: Outcome): string | undefined {
  const isSame =
    ('refusal' in ours && 'refusal' in theirs) || isDeepStrictEqual(plain(ours), plain(theirs));
  if (form.differs !== undefined) return isSame ? 'it does not differ any more' : undefined;
  if (isSame) return undefined;
  return `\n    ours   ${JSON.stringify(ours)}\n    theirs ${JSON.stringify(theirs)}`;
}

/** Without keys that have no value. */
const plain = (outcome: Outcome): unknown => JSON.parse(JSON.stringify(outcome));

/** A Keystone that keeps what it is sent, and gives everyone a token. */
async function startKeystone() {
  let sent: unknown;
  const server = createServer(async (request, response) => {
    const body = await text(request);
    response.setHeader('Content-Type', 'application/json');
    if (request.method === 'POST') {
      sent = { path: request.url, body: JSON.parse(body) as unknown };
      response.writeHead(201, { 'X-Subject-Token': 'token' });
      response.end(JSON.stringify({ token }));
      return;
    }
    const self = `http://${request.headers.host}/v3/`;
    const version = { id: 'v3.14', status: 'stable', links: [{ rel: 'self', href: self }] };
    const isOfVersion = request.url?.startsWith('/v3') ?? false;
    response.writeHead(isOfVersion ? 200 : 300);
    response.end(JSON.stringify(isOfVersion ? { version } : { versions: { values: [version] } }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/v3`,
    takeRequest: () => {
      const taken = sent;
      sent = undefined;
      return taken;
    },
    close: () => server.close(),
  };
}

const token = {
  expires_at: '2999-01-01T00:00:00.000000Z',
  issued_at: '2026-01-01T00:00:00.000000Z',
  methods: ['password'],
  user: { id: 'u', name: 'op', domain: { id: 'default', name: 'Default' } },
  catalog: [],
};
