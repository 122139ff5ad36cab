// Hosts by a part of their names.

interface Named {
  readonly hostname: string;
}

export function hostsWith<Host extends Named>(hosts: readonly Host[], text: string): Host[] {
  const part = text.trim().toLowerCase();
  return hosts.filter(({ hostname }) => hostname.toLowerCase().includes(part));
}
