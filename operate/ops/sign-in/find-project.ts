// Projects that a user names: by id or by name, as in every command of OpenStack.

import * as z from 'zod';
import type { Input } from '#operate/command.ts';
import { type ApiVerb, CommandFailed, exitCodes, wrongUsage } from '#operate/ops/verb.ts';
import type { Keystone } from './keystone.ts';

const project = z.looseObject({
  id: z.string(),
  name: z.string(),
  domain_id: z.string().nullish(),
  is_domain: z.boolean().optional(),
});
type Project = z.infer<typeof project>;

/** An id as Keystone makes it. Records and quotas also name projects that are gone. */
const idForm = /^[0-9a-f]{32}$/;

/**
 * The words of the verb with ids in place of names of projects.
 *
 * @throws CommandFailed where no project has the name, or several have it; ServiceUnavailable
 */
export async function withProjectIds(
  { options = {}, arguments: declared = [] }: ApiVerb,
  input: Input,
  keystone: Keystone,
): Promise<Input> {
  if (options.id && input.has('id')) return input;
  const ids = new Map<string, string>();
  const words = [
    ...Object.keys(options).flatMap((name) => (options[name]?.isProject ? input.all(name) : [])),
    ...declared.flatMap(({ name, isProject }) => (isProject ? input.repeated(name) : [])),
  ];
  for (const word of words) ids.set(word, await findProject(keystone, word));
  const resolve = (name: string, word: string) => {
    const isProject =
      options[name]?.isProject ?? declared.find((each) => each.name === name)?.isProject;
    return (isProject && ids.get(word)) || word;
  };
  const resolveIfGiven = (name: string, word: string | undefined) =>
    word === undefined ? undefined : resolve(name, word);
  return {
    argument: (name) => resolve(name, input.argument(name)),
    repeated: (name) => input.repeated(name).map((word) => resolve(name, word)),
    text: (name) => resolveIfGiven(name, input.text(name)),
    required: (name) => resolve(name, input.required(name)),
    all: (name) => input.all(name).map((word) => resolve(name, word)),
    has: input.has,
  };
}

async function findProject(keystone: Keystone, text: string): Promise<string> {
  if (idForm.test(text)) return text;
  const named = await listNamed(keystone, text);
  if (named.length > 1) {
    const candidates = named.map(({ id, domain_id }) => `${id} in domain ${domain_id ?? '?'}`);
    throw wrongUsage(
      `Several projects are named ${text}: give the id, which is one of ${candidates.join(', ')}.`,
    );
  }
  const [only] = named;
  if (only) return only.id;
  if (await hasId(keystone, text)) return text;
  throw new CommandFailed(exitCodes.failed, `Keystone has no project with the name or id ${text}.`);
}

/** A user who may not list projects finds the user's own. */
async function listNamed(keystone: Keystone, name: string): Promise<readonly Project[]> {
  const query = new URLSearchParams({ name });
  const all = await list(keystone, `/projects?${query}`).catch((error: unknown) => {
    if (!(error instanceof CommandFailed) || error.exitCode !== exitCodes.notAllowed) throw error;
    return list(keystone, '/auth/projects');
  });
  return all.filter((each) => each.name === name && each.is_domain !== true);
}

async function list(keystone: Keystone, path: string): Promise<readonly Project[]> {
  const schema = z.looseObject({ projects: z.array(project) });
  const doing = 'look up projects by name';
  return (await keystone.ask({ method: 'GET', path, doing, schema })).projects;
}

/** Operators can choose an id of any form for a project. */
async function hasId(keystone: Keystone, id: string): Promise<boolean> {
  try {
    const path = `/projects/${encodeURIComponent(id)}`;
    const schema = z.looseObject({ project });
    const answer = await keystone.ask({ method: 'GET', path, doing: 'read a project', schema });
    return answer.project.id === id && answer.project.is_domain !== true;
  } catch (error) {
    if (error instanceof CommandFailed) return false;
    throw error;
  }
}
