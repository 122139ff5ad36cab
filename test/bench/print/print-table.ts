/** The first column has names, the others numbers. */
export function printTable(
  title: string,
  head: readonly string[],
  rows: readonly (readonly string[])[],
): void {
  const lines = [head, ...rows];
  const widths = head.map((_, column) =>
    Math.max(...lines.map((line) => (line[column] ?? '').length)),
  );
  console.log(`\n${title}`);
  for (const line of lines) {
    const cells = widths.map((width, column) => {
      const cell = line[column] ?? '';
      return column === 0 ? cell.padEnd(width) : cell.padStart(width);
    });
    console.log(`  ${cells.join('  ')}`.trimEnd());
  }
}
