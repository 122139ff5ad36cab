// clouds.yaml and secure.yaml, found and read as openstacksdk does.
// https://docs.openstack.org/openstacksdk/latest/user/config/configuration.html

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, YAMLError } from 'yaml';
import * as z from 'zod';
import { wrongUsage } from '#operate/ops/verb.ts';

type Environment = Readonly<Record<string, string | undefined>>;
export type ReadFile = (path: string) => string | undefined;

type Settings = Readonly<Record<string, unknown>>;

/** A cloud's settings: `auth` below, and the others; names have underscores. */
export type Cloud = Settings & {
  readonly auth?: Settings;
  /** The cloud and its file, for refusals. */
  readonly origin?: string;
};

const cloud = z.looseObject({ auth: z.record(z.string(), z.unknown()).nullish() });
const clouds = z.record(z.string(), cloud.nullable()).nullish();
const cloudFile = z.looseObject({ clouds, 'public-clouds': clouds });

type Kind = 'clouds' | 'secure' | 'clouds-public';

export function readFileIfPresent(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    if (['ENOENT', 'ENOTDIR'].includes(code)) return undefined;
    throw wrongUsage(`${path} cannot be read: ${code}.`);
  }
}

/**
 * The named cloud with its secrets; without a name the only one, if the environment has no
 * credentials of its own.
 *
 * @throws CommandFailed if there is no such cloud
 */
export function readCloud(
  name: string | undefined,
  environment: Environment,
  readFile: ReadFile,
): Cloud | undefined {
  const file = readFirst('clouds', environment, readFile);
  const names = Object.keys(file?.clouds ?? {});
  if (name === undefined) {
    if (names.length === 0 || environment.OS_AUTH_URL) return undefined;
    if (names.length > 1) {
      throw wrongUsage(
        `${file?.path} has several clouds: set OS_CLOUD or --os-cloud to ${joinNames(names)}.`,
      );
    }
  }
  const cloudName = name ?? names[0] ?? '';
  const secret = readFirst('secure', environment, readFile)?.clouds[cloudName];
  const open = file?.clouds[cloudName] ?? secret;
  if (open === undefined) {
    const has = names.length === 0 ? 'no cloud' : joinNames(names);
    throw wrongUsage(
      file
        ? `${file.path} has no cloud ${cloudName}: it has ${has}.`
        : `There is no clouds.yaml with the cloud ${cloudName}: looked for ${listPaths('clouds', environment).join(', ')}.`,
    );
  }
  const own = merge(open, secret);
  const origin = `Cloud ${cloudName} of ${file?.path ?? 'secure.yaml'}`;
  const profile = own.profile ?? own.cloud;
  if (typeof profile !== 'string') return { ...own, origin };
  const vendor = readFirst('clouds-public', environment, readFile)?.clouds[profile];
  if (vendor === undefined && own.auth?.auth_url === undefined) {
    throw wrongUsage(
      `${origin} has the profile ${profile}, which no clouds-public.yaml has: set auth.auth_url there.`,
    );
  }
  return { ...merge(vendor ?? {}, own), origin };
}

/** The second has precedence, in `auth` setting by setting. */
function merge(one: Cloud, other: Cloud | undefined): Cloud {
  return { ...one, ...other, auth: { ...one.auth, ...other?.auth } };
}

function readFirst(kind: Kind, environment: Environment, readFile: ReadFile) {
  for (const path of listPaths(kind, environment)) {
    const text = readFile(path);
    if (text !== undefined) return { path, clouds: readClouds(kind, path, text) };
  }
  return undefined;
}

function listPaths(kind: Kind, environment: Environment): string[] {
  const variables = {
    clouds: 'OS_CLIENT_CONFIG_FILE',
    secure: 'OS_CLIENT_SECURE_FILE',
    // openstacksdk has no variable for this file.
    'clouds-public': '',
  };
  const named = environment[variables[kind]];
  const home = environment.HOME ?? '';
  const folders = ['.', environment.XDG_CONFIG_HOME ?? join(home, '.config'), '/etc'];
  return [
    ...(named ? [named] : []),
    ...folders.flatMap((folder, at) =>
      ['yaml', 'yml', 'json'].map((ending) =>
        join(folder, at === 0 ? '' : 'openstack', `${kind}.${ending}`),
      ),
    ),
  ];
}

/** An error quotes nothing of the file, which may hold passwords. */
function readClouds(kind: Kind, path: string, text: string): Readonly<Record<string, Cloud>> {
  const read = cloudFile.safeParse(parseYaml(path, text) ?? {});
  if (!read.success) {
    const where = read.error.issues[0]?.path.slice(0, 3).join('.');
    throw wrongUsage(`${path} must have clouds by name${where ? `; see ${where}` : ''}.`);
  }
  const all = read.data[kind === 'clouds-public' ? 'public-clouds' : 'clouds'] ?? {};
  return Object.fromEntries(
    Object.entries(all).map(([name, each]) => {
      const { auth, ...others } = each ?? {};
      return [name, { ...withUnderscores(others), auth: withUnderscores(auth ?? {}) }];
    }),
  );
}

/** `auth-url` is `auth_url`. */
function withUnderscores(settings: Settings): Settings {
  return Object.fromEntries(
    Object.entries(settings).map(([name, value]) => [name.replaceAll('-', '_'), value]),
  );
}

function parseYaml(path: string, text: string): unknown {
  try {
    // PyYAML reads YAML 1.1: merge keys, `no` and `off`; of two equal keys the last counts.
    const asPyYaml = { version: '1.1', merge: true, uniqueKeys: false } as const;
    return parse(text, { ...asPyYaml, prettyErrors: false, logLevel: 'error' });
  } catch (error) {
    const at = error instanceof YAMLError ? error.pos[0] : 0;
    throw wrongUsage(`${path} is not valid YAML at line ${text.slice(0, at).split('\n').length}.`);
  }
}

function joinNames(names: readonly string[]): string {
  return names.join(', ');
}
