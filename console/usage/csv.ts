// Rows as text for a spreadsheet.

import type { UsageRow } from '#console/api/answers.ts';
import { csvCell } from '#core/shapes/derive/csv.ts';

const columns = ['day', 'project_id', 'resource_class', 'accelerator_seconds'] as const;

export function usageCsv(rows: readonly UsageRow[]): string {
  const lines = rows.map((row) => columns.map((column) => csvCell(row[column])).join(','));
  return [columns.join(','), ...lines, ''].join('\r\n');
}
