// Devices of Cyborg with their providers in Placement, as rows of ours. Pure.

import { isHostname } from '#core/contracts/topics.ts';
import type { ImportedDevice } from '#core/domain/arq/imports.ts';
import { attributeUuid, keyLengthMax, valueLengthMax } from '#core/domain/device/attribute.ts';
import type { Deployable, Device, DeviceStatus } from '#core/domain/device/device.ts';
import { deviceUuid } from '#core/domain/report/device-plan.ts';
import { parseJson } from '#core/shapes/derive/parse-json.ts';
import { present } from '#core/shapes/derive/present.ts';
import { deviceTypes } from '#core/shapes/vocabulary/words.ts';
import { parseAddress } from './cyborg-handles.ts';
import type { CyborgDeployable, CyborgDevice, CyborgTables } from './cyborg-tables.ts';
import { describeUnclean } from './device-states.ts';
import type { CloudFacts, PlanRow } from './plan.ts';
import { NotImportable, type PlannedHandle, planProvider, withheld } from './plan-providers.ts';

export interface PlannedDevices {
  readonly rows: readonly PlanRow[];
  readonly devices: readonly ImportedDevice[];
  /** Id of Cyborg's attach handle → the handle. */
  readonly handles: ReadonlyMap<number, PlannedHandle>;
  /** Id of Cyborg's attach handle → why it or its device is not imported. */
  readonly refusals: ReadonlyMap<number, string>;
}

export function planDevices(tables: CyborgTables, facts: CloudFacts, now: string): PlannedDevices {
  const rows: PlanRow[] = [];
  const devices: ImportedDevice[] = [];
  const handles = new Map<number, PlannedHandle>();
  const refusals = new Map<number, string>();
  const places = new Map<string, number>();
  for (const each of tables.devices) {
    const parts = findParts(tables, each);
    const name = `${each.hostname}/${parts.address ?? each.uuid}`;
    try {
      const other = places.get(name);
      if (other !== undefined) throw new NotImportable(`device ${other} of Cyborg is there, too`);
      places.set(name, each.id);
      const planned = planDevice(each, parts, facts, now);
      const isPresent = facts.stored.devices.some(
        ({ uuid }) => uuid === planned.imported.device.uuid,
      );
      rows.push(toRow(name, planned, isPresent), ...attributeRows(name, parts));
      devices.push(planned.imported);
      for (const [id, handle] of planned.handles) handles.set(id, handle);
      for (const [id, reason] of planned.refusals) refusals.set(id, reason);
    } catch (error) {
      if (!(error instanceof NotImportable)) throw error;
      // Left out, our agent would offer it while servers use it.
      const isNeeded = parts.handles.some(({ in_use }) => in_use);
      rows.push({ what: 'device', name, verdict: 'refuse', note: error.message, isNeeded });
      for (const { id } of parts.handles) refusals.set(id, `its device ${name} cannot be imported`);
    }
  }
  return { rows, devices, handles, refusals };
}

type Parts = ReturnType<typeof findParts>;

function findParts(tables: CyborgTables, { id }: CyborgDevice) {
  const paths = tables.controlPaths.filter((each) => each.device_id === id);
  const deployables = tables.deployables.filter((each) => each.device_id === id);
  const ids = new Set(deployables.map((each) => each.id));
  const [path] = paths;
  return {
    address: paths.length === 1 && path ? parseAddress(path.cpid_info) : undefined,
    deployables,
    handles: tables.handles.filter((each) => ids.has(each.deployable_id)),
    attributes: tables.attributes.filter((each) => ids.has(each.deployable_id)),
  };
}

interface PlannedDevice {
  readonly imported: ImportedDevice;
  /** Its type in Cyborg. */
  readonly cyborgType: string;
  /** Why it is withheld until it is clean. */
  readonly unclean?: string;
  readonly handles: ReadonlyMap<number, PlannedHandle>;
  readonly refusals: ReadonlyMap<number, string>;
}

/** @throws NotImportable */
function planDevice(
  row: CyborgDevice,
  cyborgParts: Parts,
  facts: CloudFacts,
  now: string,
): PlannedDevice {
  const { hostname, created_at: createdAt = now } = row;
  const type = toType(row.type);
  if (!isHostname(hostname)) throw new NotImportable(`${hostname} is not a valid name of a host`);
  if (!facts.nodes.has(hostname)) {
    throw new NotImportable(`Placement has no compute node named ${hostname}`);
  }
  const { address } = cyborgParts;
  if (!address) throw new NotImportable('it does not have exactly one PCI address');
  const deployables = cyborgParts.deployables.filter(({ rp_uuid }) => rp_uuid !== undefined);
  if (deployables.length === 0) throw new NotImportable('it has no resource provider');
  const uuid = deviceUuid(hostname, address);
  const reported = facts.stored.devices.find((each) => each.uuid === uuid);
  if (reported && !reported.adopted) {
    throw new NotImportable(
      'an agent of this service reports it already: stop the agent, and forget the host',
    );
  }
  const status: DeviceStatus = row.status === 'maintaining' ? 'maintaining' : 'enabled';
  const isDivided = deployables.length > 1;
  const unclean = describeUnclean(row.device_state);
  const parts = deployables.map((each) =>
    planProvider(each, cyborgParts, facts, { isDivided, hostname, ...present({ unclean }) }),
  );
  const device: Device = {
    uuid,
    hostname,
    address,
    driver: toDriver(deployables[0]),
    type,
    vendor: row.vendor,
    product: toProduct(row),
    model: row.model,
    ...present({ stdBoardInfo: row.std_board_info, vendorBoardInfo: row.vendor_board_info }),
    status,
    digest: '',
    handleCount: parts.reduce((sum, { handles }) => sum + handles.size, 0),
    providers: parts.map(({ adopted }) => adopted.uuid),
    adopted: parts.map(({ adopted }) => adopted),
    isGone: false,
    createdAt,
  };
  const rows = parts.map(({ deployable }): Deployable => {
    const ofDevice = { deviceUuid: uuid, hostname, driver: device.driver, createdAt };
    return { ...deployable, ...ofDevice, deviceStatus: status, isGone: false };
  });
  return {
    imported: {
      device,
      deployables: rows,
      handles: parts.flatMap(({ handles }) =>
        [...handles.values()].map((each) => withheld(each, now)),
      ),
      attributes: parts.flatMap(({ deployable, cyborgId }) =>
        addedAttributes(cyborgParts, cyborgId).map((each) => ({
          uuid: attributeUuid(deployable.uuid, Buffer.from(each.uuid.replaceAll('-', ''), 'hex')),
          deployableUuid: deployable.uuid,
          key: each.key,
          value: each.value,
          isReported: false,
          createdAt: each.created_at ?? createdAt,
        })),
      ),
      ...(status === 'maintaining' && { maintenance: 'it was in maintenance in Cyborg' }),
    },
    handles: new Map(parts.flatMap(({ handles }) => [...handles])),
    refusals: new Map(parts.flatMap(({ refusals }) => [...refusals])),
    cyborgType: row.type,
    ...present({ unclean }),
  };
}

/** Attributes that operators have added: the others follow from the reports of hosts. */
function addedAttributes({ attributes }: Parts, deployable: number) {
  return attributes.filter(
    (each) => each.deployable_id === deployable && isAdded(each) && fits(each),
  );
}

const isAdded = ({ key }: { key: string }) => key !== 'rc' && !key.startsWith('trait');
const fits = ({ key, value }: { key: string; value: string }) =>
  key.length > 0 && key.length <= keyLengthMax && value.length <= valueLengthMax;

function attributeRows(device: string, { attributes }: Parts): PlanRow[] {
  return attributes.filter(isAdded).map((each) => ({
    what: 'attribute',
    name: each.uuid,
    verdict: fits(each) ? 'import' : 'skip',
    note: fits(each) ? `${each.key} of ${device}` : `key or value of ${device} is too long`,
  }));
}

function toRow(
  name: string,
  { imported, handles, refusals, cyborgType, unclean }: PlannedDevice,
  isPresent: boolean,
): PlanRow {
  const { device } = imported;
  const providers = device.adopted?.map((each) => each.name).join(', ');
  const typeNote =
    cyborgType === device.type ? device.type : `${device.type} (${cyborgType} in Cyborg)`;
  const notes = [
    `${typeNote}, provider ${providers}, ${handles.size} attach handles`,
    ...(refusals.size > 0 ? [`${refusals.size} attach handles left out`] : []),
    ...(imported.maintenance ? ['disabled'] : []),
    ...(unclean ? [`withheld until it is clean, since it ${unclean}`] : []),
  ];
  return {
    what: 'device',
    name,
    verdict: isPresent ? 'present' : 'import',
    note: notes.join('; '),
  };
}

/** Types that only Cyborg has. The first report of our agent says which type a device has. */
const otherTypes: ReadonlyMap<string, string> = new Map([
  ['NVME', 'SSD'],
  // Cyborg's own drivers report devices of an allow-list, and parents of mdevs, as GPU.
  ['PCI', 'GPU'],
  ['MDEV', 'GPU'],
]);

/** @throws NotImportable */
function toType(name: string): string {
  const type = deviceTypes.find((each) => each === name) ?? otherTypes.get(name);
  if (type) return type;
  const accepted = [...deviceTypes, ...otherTypes.keys()];
  throw new NotImportable(`type ${name} is none of ${accepted.join(', ')}`);
}

function toDriver(deployable: CyborgDeployable | undefined): string {
  return (deployable?.driver_name ?? 'cyborg').toLowerCase();
}

function toProduct({ std_board_info: text }: CyborgDevice): string {
  const info = parseJson(text) as Readonly<Record<string, unknown>> | undefined;
  return String(info?.product_id ?? info?.device_id ?? '');
}
