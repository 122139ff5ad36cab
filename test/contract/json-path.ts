// The part of JSONPath that the contract suite needs: names, indexes, `[*]`, and gabbi's `len`.

/** Undefined for a path that does not exist. `[*]` gives a list of the rest of the path. */
export function jsonPath(value: unknown, path: string): unknown {
  if (!path.startsWith('$')) throw new SyntaxError(`${path} does not begin with $.`);
  const steps = path.slice(1).match(/\.`len`|\.[\w-]+|\[\d+\]|\["[^"]+"\]|\[\*\]/g) ?? [];
  if (steps.join('') !== path.slice(1)) throw new SyntaxError(`${path} is more than we know of.`);
  return follow(value, steps);
}

function follow(value: unknown, [step, ...rest]: readonly string[]): unknown {
  if (step === undefined || value === undefined || value === null) {
    return step === undefined ? value : undefined;
  }
  if (step === '[*]') {
    return Array.isArray(value) ? value.map((each) => follow(each, rest)) : undefined;
  }
  if (step === '.`len`') {
    const length = Array.isArray(value) ? value.length : Object.keys(value).length;
    return follow(length, rest);
  }
  const name = step.replace(/^\.|^\["?|"?\]$/g, '');
  return Object.hasOwn(value as object, name)
    ? follow((value as Record<string, unknown>)[name], rest)
    : undefined;
}
