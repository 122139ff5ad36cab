import { attributesAnswer } from '#core/contracts/api/deployables.ts';
import type { Deps } from '#core/deps.ts';
import {
  type Attribute,
  attributesOf,
  attributeUuid,
  deployablePrefix,
} from '#core/domain/device/attribute.ts';
import { DeployableNotFound } from '#core/domain/errors.ts';
import { findDeployable } from '#core/operations/devices/find-by-id.ts';
import type { Page } from '#core/store/table/index-pages.ts';
import { action } from '#functions/http/action.ts';
import { isOperator } from '#functions/http/policy.ts';
import { tenantBudget, toPage, uuidPage } from '#functions/http/request/query.ts';
import { listQuery } from './schema.ts';
import { viewAttribute } from './view.ts';

/** Sorted by uuid, the order of their deployables: the index of deployables gives the pages. */
export const getAll = action(
  { query: listQuery, answers: { 200: attributesAnswer } },
  async ({ deps, caller, query, base }) => {
    const budget = isOperator(deps, caller) ? undefined : tenantBudget;
    const page: Page = { ...toPage(query), sortKey: 'uuid' };
    const isWanted = ({ uuid, key }: Attribute) =>
      (query.key === undefined || key === query.key) &&
      (page.marker === undefined ||
        (page.sortDir === 'asc' ? uuid > page.marker : uuid < page.marker));
    const attributesOfPage: Attribute[] = [];
    let deployablesRead = 0;
    let readTo: string | undefined;
    for await (const [deployable, attributes] of attributesByDeployable(
      deps,
      page,
      query.deployable_id,
    )) {
      const matches = attributes.filter(isWanted).sort((a, b) => (a.uuid < b.uuid ? -1 : 1));
      attributesOfPage.push(...(page.sortDir === 'asc' ? matches : matches.reverse()));
      if (attributesOfPage.length >= page.limit) break;
      deployablesRead += 1;
      const isFound = attributesOfPage.length > 0;
      if (deployablesRead === (isFound ? budget?.rows : budget?.rowsWithoutMatch)) {
        readTo = lastPossible(deployable, page.sortDir);
        break;
      }
    }
    const rows = attributesOfPage.slice(0, page.limit).map((each) => viewAttribute(each, base));
    return { body: uuidPage('attributes', rows, { base, path: '/attributes', query, readTo }) };
  },
);

/** No attribute of the deployable is beyond it. */
function lastPossible(deployable: string, direction: Page['sortDir']): string {
  return attributeUuid(deployable, new Uint8Array(10).fill(direction === 'asc' ? 255 : 0));
}

async function* attributesByDeployable(
  deps: Deps,
  page: Page,
  only: string | undefined,
): AsyncGenerator<[deployable: string, Attribute[]]> {
  if (only !== undefined) {
    yield [only, await attributesOfOnly(deps, only)];
    return;
  }
  const step = { limit: 100, sortKey: 'uuid', sortDir: page.sortDir } as const;
  let from = page.marker && beside(deployablePrefix(page.marker), page.sortDir);
  for (;;) {
    const deployables = await deps.listings.deployablesFrom(step, from);
    // Deployables with the same first 48 bits would have their attributes mixed: one in a
    // trillion.
    for (const deployable of deployables) yield [deployable.uuid, attributesOf(deployable)];
    from = deployables.at(-1)?.uuid;
    if (deployables.length < step.limit) return;
  }
}

/** The bound before, or after, all uuids with this prefix. */
function beside(prefix: string, direction: Page['sortDir']): string {
  return direction === 'asc' ? prefix : `${prefix}~`;
}

/** An unknown deployable has no attributes: a filter that finds nothing is not an error. */
async function attributesOfOnly(deps: Deps, id: string): Promise<Attribute[]> {
  try {
    return attributesOf(await findDeployable(deps, id));
  } catch (error) {
    if (error instanceof DeployableNotFound) return [];
    throw error;
  }
}
