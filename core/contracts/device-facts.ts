// What a report tells of a device beyond what is sold of it. All of it is optional. Of the facts
// that are only shown, one in a form that this version does not know is left out: it is no reason
// to refuse the device.

import * as z from 'zod';
import { type DeviceFacts, healthStates } from '../domain/device-facts.ts';
import { pciAddress } from './attach-handle.ts';

/** Linux numbers fewer nodes (CONFIG_NODES_SHIFT is at most 10). */
const numaNodesMax = 1024;
export const reportedAttributesMax = 32;

function shown<T>(form: z.ZodType<T>) {
  return form.optional().catch(undefined);
}

/** Keys that the control plane gives to what it derives itself. */
const derivedKey = /^(rc|traits[0-9]+|pool|numa_node|pcie_root|firmware|health)$/;
/** What a driver may name an attribute. */
export const attributeKey = z
  .string()
  .regex(/^[a-z][a-z0-9_.-]{0,63}$/)
  .refine((key) => !derivedKey.test(key));

export const reportedFacts = {
  /**
   * What stays with the card when it is moved to another slot: a serial number, or a uuid that
   * the vendor gave it. Absent where the device has none.
   */
  identity: z
    .string()
    .regex(/^[\x21-\x7e]{1,128}$/)
    .optional(),
  /** -1 is unknown, as Linux prints it; it is not shown. */
  numa_node: shown(
    z
      .int()
      .min(-1)
      .max(numaNodesMax - 1),
  ),
  /** Of the root port above the device: devices below the same one share its link. */
  pcie_root: shown(pciAddress),
  /** The version, as the vendor writes it. */
  firmware: shown(z.string().min(1).max(64)),
  health: shown(
    z.object({
      state: z.enum(healthStates),
      /** A clause that completes "The device at <address> ...". */
      reason: z.string().max(255),
      /** By the host's clock. */
      since: z.iso.datetime(),
    }),
  ),
  /** Shown by the attributes API; no tenant's data. */
  attributes: shown(
    z
      .record(attributeKey, z.string().max(255))
      .refine((given) => Object.keys(given).length <= reportedAttributesMax),
  ),
};

type Reported = z.infer<z.ZodObject<typeof reportedFacts>>;

/** The reported facts as a domain object. */
export function discoveredFacts(reported: Reported): DeviceFacts {
  const { identity, numa_node, pcie_root, firmware, health, attributes } = reported;
  return {
    ...(identity && { identity }),
    ...(numa_node !== undefined && numa_node >= 0 && { numaNode: numa_node }),
    ...(pcie_root && { pcieRoot: pcie_root }),
    ...(firmware && { firmware }),
    ...(health && { health }),
    ...(attributes && { attributes }),
  };
}
