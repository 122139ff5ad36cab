// A cell of a table for a spreadsheet. https://www.rfc-editor.org/rfc/rfc4180

/**
 * What a spreadsheet would take for a formula.
 * https://owasp.org/www-community/attacks/CSV_Injection
 */
const formula = /^[=+\-@\t\r\n]/;
const number = /^-?\d+(\.\d+)?$/;

/** Hosts and tenants choose some texts: none of them may be a formula. */
export function csvCell(value: string | number): string {
  const text = String(value);
  const guarded = formula.test(text) && !number.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(guarded) ? `"${guarded.replaceAll('"', '""')}"` : guarded;
}
