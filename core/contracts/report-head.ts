import * as z from 'zod';

/** What of a report says whether it is worth reading: a part of inventory-report.ts. */
export const reportHead = z.object({
  boot_id: z.guid(),
  sequence: z.number().int().min(0),
  devices: z.array(z.unknown()),
});
export type ReportHead = z.infer<typeof reportHead>;
