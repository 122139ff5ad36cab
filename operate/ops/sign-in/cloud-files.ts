// clouds.yaml and secure.yaml, found and read as openstacksdk does.
// https://docs.openstack.org/openstacksdk/latest/user/config/configuration.html

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, YAMLError } from 'yaml';
import * as z from 'zod';
import { wrongUsage } from '#operate/ops/verb.ts';

type Environment = Readonly<Record<string, string | undefined>>;
export type ReadFile = (path: string) => string | undefined;

/** A cloud's settings: `auth` below, and the others. */
export type Cloud = Readonly<Record<string, unknown>> & {
  readonly auth?: Readonly<Record<string, unknown>>;
};

const cloud = z.looseObject({ auth: z.record(z.string(), z.unknown()).optional() });
const cloudFile = z.looseObject({
  clouds: z.record(z.string(), cloud.nullable()).nullish(),
});

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
  const open = file?.clouds[cloudName];
  if (open === undefined) {
    const has = names.length === 0 ? 'no cloud' : joinNames(names);
    throw wrongUsage(
      file
        ? `${file.path} has no cloud ${cloudName}: it has ${has}.`
        : `There is no clouds.yaml with the cloud ${cloudName}: looked for ${listPaths('clouds', environment).join(', ')}.`,
    );
  }
  const secret = readFirst('secure', environment, readFile)?.clouds[cloudName];
  return { ...open, ...secret, auth: { ...open.auth, ...secret?.auth } };
}

function readFirst(kind: 'clouds' | 'secure', environment: Environment, readFile: ReadFile) {
  for (const path of listPaths(kind, environment)) {
    const text = readFile(path);
    if (text !== undefined) return { path, clouds: readClouds(path, text) };
  }
  return undefined;
}

function listPaths(kind: 'clouds' | 'secure', environment: Environment): string[] {
  const variable = kind === 'clouds' ? 'OS_CLIENT_CONFIG_FILE' : 'OS_CLIENT_SECURE_FILE';
  const named = environment[variable];
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
function readClouds(path: string, text: string): Readonly<Record<string, Cloud>> {
  const read = cloudFile.safeParse(parseYaml(path, text) ?? {});
  if (!read.success) {
    const where = read.error.issues[0]?.path.slice(0, 2).join('.');
    throw wrongUsage(`${path} must have clouds by name${where ? `; see ${where}` : ''}.`);
  }
  return Object.fromEntries(
    Object.entries(read.data.clouds ?? {}).map(([name, each]) => [name, (each ?? {}) as Cloud]),
  );
}

function parseYaml(path: string, text: string): unknown {
  try {
    return parse(text, { prettyErrors: false, logLevel: 'error' });
  } catch (error) {
    const at = error instanceof YAMLError ? error.pos[0] : 0;
    throw wrongUsage(`${path} is not valid YAML at line ${text.slice(0, at).split('\n').length}.`);
  }
}

function joinNames(names: readonly string[]): string {
  return names.join(', ');
}
