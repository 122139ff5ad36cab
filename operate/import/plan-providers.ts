// Providers of a device in Cyborg, with their attach handles, as rows of ours. Pure.

import { importedCleanSeconds } from '#core/domain/arq/imports.ts';
import type { AdoptedProvider } from '#core/domain/device/adopted-providers.ts';
import type { AttachHandle } from '#core/domain/device/device.ts';
import type { HandleUuid, ProviderUuid } from '#core/domain/ids.ts';
import { isStackTrait } from '#core/domain/placement/stack-mark.ts';
import { deployableUuid, handleUuid } from '#core/domain/report/device-plan.ts';
import { pciFunction } from '#core/shapes/attach-handle.ts';
import { present } from '#core/shapes/derive/present.ts';
import {
  isOfferedClass,
  isOfferedTrait,
  ownerTrait,
} from '#core/shapes/vocabulary/placement-names.ts';
import { parseHandle, type ReadHandle } from './cyborg-handles.ts';
import type { CyborgDeployable, CyborgTables } from './cyborg-tables.ts';
import type { CloudFacts } from './plan.ts';

/** Why something cannot be imported: a clause that completes "<name>: ...". */
export class NotImportable extends Error {
  override readonly name = 'NotImportable';
}

export interface PlannedHandle extends ReadHandle {
  readonly uuid: HandleUuid;
  readonly providerUuid: ProviderUuid;
  readonly hostname: string;
  /** Why it is withheld until its host has cleaned it. */
  readonly unclean?: string;
}

/** Rows of the device's providers. */
type DeviceRows = Pick<CyborgTables, 'handles' | 'attributes'>;

/** What all providers of the device have in common. */
interface OfDevice {
  /** The device has more than one provider. */
  readonly isDivided: boolean;
  readonly hostname: string;
  readonly unclean?: string;
}

/** @throws NotImportable */
export function planProvider(
  row: CyborgDeployable,
  rows: DeviceRows,
  facts: CloudFacts,
  ofDevice: OfDevice,
) {
  const { isDivided, hostname } = ofDevice;
  const uuid = (row.rp_uuid ?? '').toLowerCase() as ProviderUuid;
  const held = facts.providers.get(uuid);
  if (!held) throw new NotImportable(`Placement has no resource provider ${uuid} (${row.name})`);
  if (held.node !== hostname) {
    throw new NotImportable(
      `its resource provider ${held.name} is below ${held.node}, not ${hostname}`,
    );
  }
  const resourceClass = rows.attributes.find(
    (each) => each.deployable_id === row.id && each.key === 'rc',
  )?.value;
  if (!resourceClass || !isOfferedClass(resourceClass)) {
    throw new NotImportable(
      `resource class ${resourceClass ?? 'none'} of ${row.name} cannot be offered`,
    );
  }
  if (held.classes.some((each) => each !== resourceClass)) {
    throw new NotImportable(
      `Placement has ${held.classes.join(', ')} at ${held.name}, and Cyborg ${resourceClass}`,
    );
  }
  const { handles, refusals, hasMdevs } = planHandles(row, rows, uuid, ofDevice);
  const address = isDivided ? onlyFunction(row, [...handles.values()]) : undefined;
  const kept = held.traits.filter((trait) => isOfferedTrait(trait) && !isStackTrait(trait));
  const adopted: AdoptedProvider = {
    uuid,
    name: held.name,
    // A program changes, and the settings of our agent name the mdevs.
    traits: hasMdevs ? [] : kept.filter((trait) => !/_FUNCTION_/.test(trait)),
    ...present({ address }),
  };
  const types = [...new Set([...handles.values()].map(({ type }) => type))];
  const deployable = {
    uuid: deployableUuid(held.name),
    providerUuid: uuid,
    name: held.name,
    resourceClass,
    numAccelerators: row.num_accelerators,
    ...(types.length > 0 && { attachTypes: types }),
    traits: [...new Set([ownerTrait, ...kept])].sort(),
    ...(row.bitstream_id && { bitstreamId: row.bitstream_id }),
  };
  return { adopted, deployable, handles, refusals, cyborgId: row.id };
}

function planHandles(
  { id }: CyborgDeployable,
  rows: DeviceRows,
  providerUuid: ProviderUuid,
  { hostname, unclean }: OfDevice,
) {
  const handles = new Map<number, PlannedHandle>();
  const refusals = new Map<number, string>();
  let hasMdevs = false;
  for (const row of rows.handles.filter((each) => each.deployable_id === id)) {
    const read = parseHandle(row);
    if (typeof read === 'string') refusals.set(row.id, read);
    else if (read.type === 'MDEV') {
      hasMdevs = true;
      const type = read.info.asked_type ?? 'unknown';
      refusals.set(
        row.id,
        `its mdev of type ${type} was made by Cyborg's agent, and no agent of this service offers it`,
      );
    } else {
      const uuid = handleUuid(providerUuid, read);
      handles.set(row.id, { ...read, uuid, providerUuid, hostname, ...present({ unclean }) });
    }
  }
  return { handles, refusals, hasMdevs };
}

/** @throws NotImportable */
function onlyFunction({ name }: CyborgDeployable, handles: readonly PlannedHandle[]): string {
  const [handle] = handles;
  const address = handle?.type === 'PCI' ? pciFunction(handle) : undefined;
  if (handles.length === 1 && address !== undefined) return address;
  throw new NotImportable(
    `it has several resource providers, and ${name} has ${handles.length} PCI functions instead of one`,
  );
}

/**
 * Withheld until a server claims it, or Placement shows that no other consumer can hold it. What
 * is not clean is in quarantine, too, until its host has cleaned it.
 */
export function withheld(
  { uuid, providerUuid, type, info, unclean }: PlannedHandle,
  now: string,
): AttachHandle {
  return {
    uuid,
    providerUuid,
    type,
    info,
    cleanSeconds: importedCleanSeconds,
    epoch: Date.parse(now),
    restoredAt: now,
    isGone: false,
    ...(unclean !== undefined && { quarantine: `The device ${unclean}` }),
  };
}
