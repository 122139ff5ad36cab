import * as z from 'zod';

/** The fields of a report that decide whether to read it: a part of inventory-report.ts. */
export const reportHead = z.object({
  boot_id: z.guid(),
  sequence: z.number().int().min(0),
  devices: z.array(z.unknown()),
});
export type ReportHead = z.infer<typeof reportHead>;
