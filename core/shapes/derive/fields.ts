import * as z from 'zod';

/** A branded identifier. Its form was checked when it was written. */
export function id<Id extends string>(): z.ZodType<Id> {
  return z.string() as unknown as z.ZodType<Id>;
}

export const texts = z.record(z.string(), z.string());
export const optionalText = z.string().exactOptional();
/** What a host has verified, by name, for people to read. */
export const verified = z.record(z.string(), z.union([z.string(), z.number(), z.boolean()]));

/** `DDDD:BB:DD.F`, lower case; the domain may have more than four digits (VMD, Hyper-V). */
export const pciAddress = z.string().regex(/^[0-9a-f]{4,8}:[0-9a-f]{2}:[0-1][0-9a-f]\.[0-7]$/);

/** The kernel's name of a device without a PCI address, such as `fpga0`. */
export const kernelName = z.string().regex(/^[a-z][a-z0-9_-]{0,31}$/);

export const deviceAddress = z.union([pciAddress, kernelName]);

/** The name of a driver. */
export const driverName = z.string().regex(/^[a-z0-9_]{1,64}$/);

export const shortText = z.string().max(255);

/** A fact that is only shown. In a form that this version does not know, it is left out. */
export function shown<T>(form: z.ZodType<T>) {
  return form.optional().catch(undefined);
}

/** Who changed a row. */
export const changeNote = z.object({
  /** ISO 8601; never before the note that it replaces, although clocks differ. */
  at: z.string(),
  /**
   * `user:<id>`, `operator` for a command with AWS credentials, `agent`, `sweep`, or `service` for
   * what follows from earlier changes.
   */
  by: z.string(),
  request_id: optionalText,
});
