// What a tenant's filtered list reads at most, of a cloud with more devices than that.
//
// @module-tag long

import { beforeAll, describe, expect, it } from 'vitest';
import {
  type DeployableUuid,
  type DeviceUuid,
  derivedUuid,
  providerUuid,
} from '#core/domain/ids.ts';
import { deployableRow, deviceRow } from '#core/store/rows/inventory-rows.ts';
import { createDocuments } from '#core/store/table/documents.ts';
import { tenantBudget, uuidPage } from '#functions/http/request/query.ts';
import { putInventory } from '#test/support/aws/put-inventory.ts';
import { aDeployable, aStoredDevice } from '#test/support/builders.ts';
import { perFile } from '#test/support/vitest/shared.ts';
import { startWorld } from '#test/support/world.ts';

const world = perFile(() => startWorld({ consumers: false }));
const devicesStored = tenantBudget.rows + 100;

beforeAll(async () => {
  const [devices, deployables] = (['device', 'deployable'] as const).map((kind) =>
    Array.from({ length: devicesStored }, (_, at) => derivedUuid(kind, `${at}`)).sort(),
  ) as [string[], string[]];
  const rows = devices.flatMap((device, at) => {
    const isLast = at === devicesStored - 1;
    const deviceUuid = device as DeviceUuid;
    return [
      deviceRow(aStoredDevice({ uuid: deviceUuid, ...(isLast && { type: 'QAT' }) })),
      deployableRow(
        aDeployable({
          uuid: deployables[at] as DeployableUuid,
          providerUuid: providerUuid(`${at}`),
          deviceUuid,
          ...(isLast && { reportedAttributes: { rare: 'yes' } }),
        }),
      ),
    ];
  });
  const { documents, close } = createDocuments();
  await putInventory(documents, rows);
  close();
});

const list = async (path: string, token: string) => {
  const { status, json: body } = await world.ask('GET', `/v2/${path}`, { token });
  const json: Readonly<Record<string, unknown>> = { ...body };
  const resource = String(path.split('?')[0]);
  return {
    status,
    uuids: ((json[resource] ?? []) as { uuid: string }[]).map(({ uuid }) => uuid),
    next: (json[`${resource}_links`] as { href: string }[] | undefined)?.[0]?.href,
    error: String(json.error),
  };
};

describe.each([
  { resource: 'devices', filter: 'type=QAT', every: 'type=FPGA' },
  { resource: 'attributes', filter: 'key=rare', every: 'key=rc' },
])("a manager's list of $resource", ({ resource, filter, every }) => {
  it('reads on while it has no match', async () => {
    const page = await list(`${resource}?${filter}&sort_key=uuid`, 'manager-token');
    expect(page).toMatchObject({ status: 200, next: undefined });
    expect(page.uuids).toHaveLength(1);
  });

  it('in the other order has the match, and a link to the rest', async () => {
    const page = await list(`${resource}?${filter}&sort_key=uuid&sort_dir=desc`, 'manager-token');
    expect(page.uuids).toHaveLength(1);
    const rest = await list(String(page.next).replace(/^.*\/v2\//, ''), 'manager-token');
    expect(rest).toMatchObject({ status: 200, uuids: [], next: undefined });
  });

  it('that is full is within the budget', async () => {
    const page = await list(`${resource}?${every}&limit=10`, 'manager-token');
    expect(page.uuids).toHaveLength(10);
  });

  it('is read whole for an operator', async () => {
    const page = await list(`${resource}?${filter}&sort_key=uuid`, 'admin-token');
    expect(page).toMatchObject({ status: 200, next: undefined });
    expect(page.uuids).toHaveLength(1);
  });
});

it('a page that ended without a match says where to continue', () => {
  const at = { base: '', path: '/devices', query: { type: 'QAT', limit: 5 }, readTo: 'uuid-9' };
  expect(() => uuidPage('devices', [], at)).toThrow(
    'type: no match among 40000 that were read; continue with marker=uuid-9.',
  );
});
