// Signs in by the unmodified openstack client and as `cyborg-ops` does, with the same files and
// environment: both send Keystone the same body, and read the same region, interface and
// certificates.

import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
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

/** A form with its files on disk and its variables. */
interface Prepared {
  readonly form: SignInForm;
  /** In the first part of Keystone's path. */
  readonly id: string;
  readonly folder: string;
  readonly environment: Readonly<Record<string, string>>;
}

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
    const forms = signInForms.map((form, index) =>
      prepare(form, String(index), directory, keystone.url),
    );
    const ours: Outcome[] = [];
    for (const each of forms) ours.push(await signIn(each, join(directory, 'ours'), keystone.take));
    const theirs = await askClient(python, forms, join(directory, 'theirs'), keystone.take);
    for (const [index, { form }] of forms.entries()) {
      note(`signs in with ${form.title}`, faultOf(form, ours[index], theirs[index]));
    }
  } finally {
    keystone.close();
    rmSync(directory, { recursive: true, force: true });
  }
}

function prepare(form: SignInForm, id: string, directory: string, url: string): Prepared {
  const folder = join(directory, id);
  const root = `${url}/${id}`;
  const atKeystone = (value: string) =>
    value.replaceAll('$KEYSTONE_ROOT', root).replaceAll('$KEYSTONE', `${root}/v3`);
  mkdirSync(folder);
  for (const [name, content] of Object.entries(form.files ?? {})) {
    writeFileSync(join(folder, name), atKeystone(content));
  }
  const variables = Object.entries(form.environment ?? {});
  const environment = Object.fromEntries(
    variables.map(([name, value]) => [name, atKeystone(value)]),
  );
  return { form, id, folder, environment };
}

async function signIn(
  { id, folder, environment }: Prepared,
  home: string,
  take: (id: string) => unknown,
): Promise<Outcome> {
  const place = join(home, '.config', 'openstack');
  const readFile = (path: string) =>
    path.startsWith(`${place}/`) ? readFileIfPresent(join(folder, basename(path))) : undefined;
  try {
    const variables = { ...environment, HOME: home };
    const cloud = readCloud(environment.OS_CLOUD, variables, readFile);
    const credentials = readCredentials({ options: {}, environment: variables, cloud });
    await logIn(createHttp(), credentials);
    const { region, caFile, isInsecure } = credentials;
    const verify = isInsecure ? false : (caFile ?? true);
    return { sent: take(id), region, interface: credentials.interface, verify };
  } catch (error) {
    return { refusal: (error as Error).message };
  }
}

async function askClient(
  python: string,
  forms: readonly Prepared[],
  home: string,
  take: (id: string) => unknown,
): Promise<readonly Outcome[]> {
  mkdirSync(home);
  const env = { PATH: process.env.PATH ?? '', HOME: home };
  const program = join(import.meta.dirname, 'sign_in.py');
  const running = exec(python, [program], { env, cwd: home });
  running.child.stdin?.end(
    forms.map(({ folder, environment }) => `${JSON.stringify({ folder, environment })}\n`).join(''),
  );
  const lines = (await running).stdout.trimEnd().split('\n');
  return lines.map((line, index) => {
    const { refusal, verify, ...told } = JSON.parse(line) as Told;
    const sent = take(String(index));
    if (refusal !== undefined) return { refusal };
    // The client also takes the name of the catalog's own key.
    const catalogInterface = told.interface.replace(/URL$/, '');
    return { sent, region: told.region || undefined, interface: catalogInterface, verify };
  });
}

/** A line of sign_in.py. */
interface Told extends Pick<SignIn, 'interface' | 'verify'> {
  readonly region: string | null;
  readonly refusal?: string;
}

function faultOf(
  form: SignInForm,
  ours: Outcome | undefined,
  theirs: Outcome | undefined,
): string | undefined {
  if (!ours || !theirs) return 'no answer';
  const isSame =
    ('refusal' in ours && 'refusal' in theirs) || isDeepStrictEqual(plain(ours), plain(theirs));
  if (form.differs !== undefined) return isSame ? 'it does not differ any more' : undefined;
  if (isSame) return undefined;
  return `\n    ours   ${JSON.stringify(ours)}\n    theirs ${JSON.stringify(theirs)}`;
}

/** Without keys that have no value. */
const plain = (outcome: Outcome): unknown => JSON.parse(JSON.stringify(outcome));

/** A Keystone that keeps what it is sent, by the first part of the path, and gives tokens. */
async function startKeystone() {
  const sent = new Map<string, unknown>();
  const server = createServer(async (request, response) => {
    const body = await text(request);
    const [, id = '', ...path] = (request.url ?? '').split('/');
    response.setHeader('Content-Type', 'application/json');
    if (request.method === 'POST') {
      sent.set(id, { path: path.join('/'), body: JSON.parse(body) as unknown });
      response.writeHead(201, { 'X-Subject-Token': 'token' });
      response.end(JSON.stringify({ token }));
      return;
    }
    const self = `http://${request.headers.host}/${id}/v3/`;
    const version = { id: 'v3.14', status: 'stable', links: [{ rel: 'self', href: self }] };
    const isOfVersion = path[0] === 'v3';
    response.writeHead(isOfVersion ? 200 : 300);
    response.end(JSON.stringify(isOfVersion ? { version } : { versions: { values: [version] } }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    take: (id: string) => {
      const taken = sent.get(id);
      sent.delete(id);
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
