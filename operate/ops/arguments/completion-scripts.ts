// The scripts that shells load. They call the command itself, which has the table.

/** The word that the scripts call the command with, before the words of the line. */
export const completeWord = '__complete';

const bash = `# Load it: source <(cyborg-ops completion bash)
_cyborg_ops() {
  local IFS=$'\\n'
  COMPREPLY=($("\${COMP_WORDS[0]}" ${completeWord} "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _cyborg_ops cyborg-ops`;

const zsh = `#compdef cyborg-ops
# Load it after compinit: source <(cyborg-ops completion zsh)
_cyborg_ops() {
  local -a found
  found=("\${(@f)$("\${words[1]}" ${completeWord} "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ -n "\${found[1]}" ]]; then compadd -a found; else _files; fi
}
compdef _cyborg_ops cyborg-ops`;

export const completionScripts = { bash, zsh } as const;
export type Shell = keyof typeof completionScripts;
