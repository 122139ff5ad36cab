// Cells of the tables of README.md, beside this file.

export function at(sorted: readonly number[], share: number): number | undefined {
  return sorted[Math.min(Math.floor(sorted.length * share), sorted.length - 1)];
}

export function seconds(value: number | undefined): string {
  if (value === undefined) return '';
  return `${value < 10 ? value.toFixed(1) : whole(Math.round(value))} s`;
}

export function whole(count: number): string {
  return count.toLocaleString('en');
}
