// Rows as text for a spreadsheet. https://www.rfc-editor.org/rfc/rfc4180

import type { UsageRow } from '#console/api/answers.ts';

const columns = ['day', 'project_id', 'resource_class', 'accelerator_seconds'] as const;

export function usageCsv(rows: readonly UsageRow[]): string {
  const lines = rows.map((row) => columns.map((column) => cellText(row[column])).join(','));
  return [columns.join(','), ...lines, ''].join('\r\n');
}

function cellText(value: string | number): string {
  if (typeof value === 'number') return String(value);
  // A spreadsheet would take such text for a formula.
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
