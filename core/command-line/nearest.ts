// Which of several names a mistyped word was meant to be.

/** ` (did you mean hosts?):` for a word that is nearly one of the choices, else a colon. */
export function nearest(word: string, choices: readonly string[]): string {
  const choice = findNearest(word, choices);
  return choice === undefined ? ':' : ` (did you mean ${choice}?):`;
}

/** Case, hyphens, underscores and dots do not count. */
export function findNearest(word: string, choices: readonly string[]): string | undefined {
  const plain = lettersOf(word);
  const [best] = choices
    .map((choice) => ({ choice, edits: editsBetween(plain, lettersOf(choice)) }))
    .sort((one, other) => one.edits - other.edits);
  const most = plain.length < 5 ? 1 : 2;
  return best && best.edits <= most ? best.choice : undefined;
}

function lettersOf(word: string): string {
  return word.toLowerCase().replaceAll(/[^a-z0-9]/g, '');
}

/** How many letters must be added, left out or replaced; two that have changed places are two. */
function editsBetween(one: string, other: string): number {
  let above = Array.from({ length: other.length + 1 }, (_, at) => at);
  for (const [row, letter] of [...one].entries()) {
    const line = [row + 1];
    for (const [at, each] of [...other].entries()) {
      const replaced = (above[at] ?? 0) + (letter === each ? 0 : 1);
      line.push(Math.min(replaced, (above[at + 1] ?? 0) + 1, (line[at] ?? 0) + 1));
    }
    above = line;
  }
  return above.at(-1) ?? 0;
}
