// Ids of projects in requests. A row for a project that Keystone does not have would name nothing:
// no token is of it.

import type { Deps } from '#core/deps.ts';
import { InvalidInput } from '#core/domain/errors.ts';
import { forEachAtOnce } from '#core/operations/for-each-at-once.ts';
import { projectId } from './page.ts';

const asksAtOnce = 10;

/**
 * @throws InvalidInput with Nova's sentence for the first that is not the id of a project;
 *   ServiceUnavailable while Keystone cannot be asked
 */
export async function checkProjects(
  { clients }: Pick<Deps, 'clients'>,
  ids: readonly string[],
): Promise<void> {
  const missing = new Set<string>();
  await forEachAtOnce(ids, asksAtOnce, async (id) => {
    if (!isProjectId(id) || !(await clients.keystone.hasProject(id))) missing.add(id);
  });
  const first = ids.find((id) => missing.has(id));
  if (first !== undefined) {
    throw new InvalidInput(
      `Project ID ${first} is not a valid project.`,
      'cyborg.project.not_found',
    );
  }
}

/** @throws InvalidInput for text that cannot be a project's id at Keystone */
export function checkProjectId(id: string): void {
  if (isProjectId(id)) return;
  throw new InvalidInput("A project id holds letters, digits, '-' and '_', at most 64 of them.");
}

function isProjectId(id: string): boolean {
  return projectId.safeParse(id).success;
}
