// Settings of a driver with a table of models: which models or addresses the host offers, and rows
// of the operator for models that the table lacks.

import * as z from 'zod';
import { oneOrMany, pciAddress } from '#agent/drivers/contract/setting-forms.ts';
import { type AllowListEntry, allowListEntry } from '#agent/drivers/pci/allow-list.ts';
import { present } from '#core/shapes/derive/present.ts';
import { type ModelRow, type ModelTable, modelIds, modelRow } from './rows.ts';

const { bind_to, clean, lost_by_reset, resets, traits } = allowListEntry.shape;

const device = z
  .strictObject({
    model: z.string('must be the name of a model').optional(),
    addresses: oneOrMany(pciAddress, 64).optional(),
    /** Makes that many on each card whose virtual functions are the model. */
    virtual_functions: z
      .int('must be a number from 1 to 65535')
      .min(1, 'must be a number from 1 to 65535')
      .max(65535, 'must be a number from 1 to 65535')
      .optional(),
    bind_to,
    /** In place of the row's. */
    clean: clean.unwrap().optional(),
    resets,
    lost_by_reset,
    /** Beside the row's. */
    traits,
  })
  .refine(
    ({ model, addresses }) => model !== undefined || addresses !== undefined,
    'must name a model, addresses, or both',
  );

export type ModelDevice = z.infer<typeof device>;

export interface ModelSettings {
  readonly devices: readonly ModelDevice[];
  readonly rows: readonly ModelRow[];
}

export function modelSettings(table: ModelTable): z.ZodType<ModelSettings> {
  const tableRows = ownRows(table);
  return z
    .strictObject({
      devices: z
        .array(device, 'must say which models or addresses this host offers')
        .min(1, 'must say which models or addresses this host offers')
        .max(64),
      rows: z.array(modelRow, 'must be a list of rows').max(256).default([]),
    })
    .superRefine(({ devices, rows }, context) => {
      const fault = (path: (string | number)[], message: string) =>
        context.addIssue({ code: 'custom', path, message });
      const all = [...tableRows];
      for (const [index, row] of rows.entries()) {
        const namesake = all.find(({ name }) => isSameName(name, row.name));
        if (namesake) fault(['rows', index, 'name'], `duplicate model: ${namesake.name}`);
        for (const id of modelIds(row)) {
          const other = all.find(
            (each) => each.function === row.function && modelIds(each).includes(id),
          );
          if (other) fault(['rows', index, 'product_ids'], `${id} is the model ${other.name}`);
        }
        all.push(row);
      }
      for (const [index, { model, virtual_functions: count }] of devices.entries()) {
        const row = all.find(({ name }) => name === model);
        const names = all.map(({ name }) => name).join(', ');
        if (model !== undefined && !row) {
          fault(['devices', index, 'model'], `must be one of ${names}, or of a row in rows`);
        } else if (count !== undefined && row?.function !== 'virtual') {
          const message = 'needs a model whose function is virtual';
          fault(['devices', index, 'virtual_functions'], message);
        }
      }
    });
}

function ownRows({ rows }: ModelTable): ModelRow[] {
  return rows.map((row) => modelRow.parse(row));
}

function isSameName(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase();
}

/** The table's rows and the operator's. */
export function allRows(table: ModelTable, { rows }: ModelSettings): ModelRow[] {
  return [...ownRows(table), ...rows];
}

/** What the settings offer, in the form of driver `pci`; the first entry that matches counts. */
export function toAllowList(
  table: ModelTable,
  settings: ModelSettings,
): ReadonlyMap<AllowListEntry, ModelRow> {
  const all = allRows(table, settings);
  const entries = new Map<AllowListEntry, ModelRow>();
  for (const chosen of settings.devices) {
    for (const row of wantedRows(chosen, all)) {
      for (const product_id of row.product_ids) {
        // One entry for each address; one for all, if none is given.
        for (const place of chosen.addresses ?? [undefined]) {
          entries.set(toEntry(table, chosen, { row, product_id, address: place }), row);
        }
      }
    }
  }
  return entries;
}

/** Virtual functions first: a card that has some is never offered as a whole. */
export function wantedRows({ model }: ModelDevice, rows: readonly ModelRow[]): ModelRow[] {
  if (model !== undefined) return rows.filter(({ name }) => name === model);
  const isVirtual = (row: ModelRow) => row.function === 'virtual';
  return [...rows.filter(isVirtual), ...rows.filter((row) => !isVirtual(row))];
}

interface Place {
  readonly row: ModelRow;
  readonly product_id: string;
  readonly address: string | undefined;
}

function toEntry(
  { type }: ModelTable,
  chosen: ModelDevice,
  { row, product_id, address: place }: Place,
): AllowListEntry {
  return {
    vendor_id: row.vendor_id,
    product_id,
    ...present({ class: row.class, address: place }),
    device_type: type,
    resource_class: row.resource_class,
    traits: [
      `CUSTOM_${type}_PRODUCT_ID_${product_id.toUpperCase()}`,
      `CUSTOM_${type}_${row.name.toUpperCase().replaceAll(/[^A-Z0-9]/g, '_')}`,
      ...row.traits,
      ...chosen.traits,
    ],
    virtual_functions: row.function === 'virtual' && (chosen.virtual_functions ?? true),
    ...present({
      bind_to: chosen.bind_to,
      resets: chosen.resets,
      lost_by_reset: chosen.lost_by_reset,
    }),
    companions: false,
    clean: chosen.clean ?? row.clean,
  };
}
