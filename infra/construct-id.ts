/** Id of a construct, e.g. `NovaEvents`, from a name in one of our tables, e.g. `nova-events`. */
export function constructId(name: string): string {
  return name.replaceAll(/(?:^|-)([a-z])/g, (_match, letter: string) => letter.toUpperCase());
}
