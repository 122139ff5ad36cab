// A device as its host reports it, with what its row does not keep. It is not loaded with the row,
// which the functions that Nova calls read.

import * as z from 'zod';
import { shown } from '../derive/fields.ts';
import { reportedAttributes, reportedFacts } from '../device.ts';

const seenMax = 128;

export const seenUnit = z.object({
  /** The address of a PCI function, or the uuid of an mdev. */
  unit: z.string().regex(/^[0-9a-f:.-]{1,40}$/),
  /** The server's uuid, as libvirt has it. */
  instance_uuid: z.guid(),
  /** False: the server runs without it, and had it before. */
  is_attached: z.boolean(),
  /** ISO 8601, by the host's clock, as `at`. */
  since: z.iso.datetime(),
});

/** What running servers of the host have of the device, as its hypervisor says. */
export const seenAttachments = z.object({
  at: z.iso.datetime(),
  units: z.array(seenUnit).max(seenMax),
});

/** What a report says of a device beside what can be allocated. */
export const reportedDevice = z.object({
  ...reportedFacts.shape,
  /** Names the provider in place of the address, as for the fake driver. */
  provider_suffix: z
    .string()
    .regex(/^[a-zA-Z0-9_-]{1,64}$/)
    .optional(),
  /** Shown by the attributes API; no tenant's data. */
  attributes: shown(reportedAttributes),
  /** Compared with what is bound. */
  seen_attachments: shown(seenAttachments),
});
