/** `millrace completion`: a script with which the shell completes commands and options, made from them. */
import { Argument, Command } from 'commander';
import { examples } from './help.ts';
import { print } from './output.ts';

const SHELLS = ['bash', 'zsh', 'fish'] as const;
type Shell = (typeof SHELLS)[number];

interface Completed {
  readonly name: string;
  readonly summary: string;
  readonly options: readonly { readonly flag: string; readonly description: string }[];
}

/** `commandsOf` is asked when the script is made: by then all commands are there. */
export function completionCommand(commandsOf: () => readonly Command[]): Command {
  return new Command('completion')
    .summary('print a completion script for a shell')
    .description('Prints a script that makes a shell complete commands, options and paths.')
    .addArgument(new Argument('<shell>', 'which shell').choices(SHELLS))
    .addHelpText(
      'after',
      examples(
        'source <(millrace completion bash)',
        'millrace completion zsh > ~/.zfunc/_millrace',
        'millrace completion fish > ~/.config/fish/completions/millrace.fish',
      ),
    )
    .action((shell: Shell) => print(SCRIPTS[shell](commandsOf().map(completed))));
}

function completed(command: Command): Completed {
  const visible = command.createHelp().visibleOptions(command);
  const options = visible.flatMap(({ long, description }) =>
    long === undefined || long === null ? [] : [{ flag: long, description }],
  );
  return { name: command.name(), summary: command.summary() || command.description(), options };
}

const SCRIPTS: Readonly<Record<Shell, (commands: readonly Completed[]) => string>> = { bash, zsh, fish };

function bash(commands: readonly Completed[]): string {
  const cases = commands.map(
    ({ name, options }) => `    ${name}) words='${options.map(({ flag }) => flag).join(' ')}' ;;`,
  );
  return `_millrace() {
  local current=\${COMP_WORDS[COMP_CWORD]} words=''
  case \${COMP_WORDS[1]} in
${cases.join('\n')}
  esac
  if [ "$COMP_CWORD" -eq 1 ]; then
    words='${commands.map(({ name }) => name).join(' ')} --help --version'
  elif [ "\${current#-}" = "$current" ]; then
    COMPREPLY=($(compgen -f -- "$current"))
    return
  fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o filenames -F _millrace millrace
`;
}

function zsh(commands: readonly Completed[]): string {
  const names = commands.map(({ name, summary }) => `    ${quoted(`${name}:${summary}`)}`);
  const cases = commands.map(({ name, options }) => {
    const flags = options.map(({ flag, description }) => quoted(`${flag}[${description.replaceAll(/[[\]:]/g, ' ')}]`));
    return `    ${name}) _arguments ${[...flags, "'*:file:_files'"].join(' ')} ;;`;
  });
  return `#compdef millrace
_millrace() {
  local -a commands
  commands=(
${names.join('\n')}
  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  local command=$words[2]
  shift words
  (( CURRENT-- ))
  case $command in
${cases.join('\n')}
  esac
}
compdef _millrace millrace
`;
}

function fish(commands: readonly Completed[]): string {
  const lines = commands.flatMap(({ name, summary, options }) => [
    `complete -c millrace -n __fish_use_subcommand -f -a ${name} -d ${quoted(summary)}`,
    ...options.map(({ flag, description }) => {
      const seen = quoted(`__fish_seen_subcommand_from ${name}`);
      return `complete -c millrace -n ${seen} -l ${flag.slice(2)} -d ${quoted(description)}`;
    }),
  ]);
  return `${lines.join('\n')}\n`;
}

/** All three shells take text in single quotes as it is; a quote itself becomes a double one, which reads as well. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", '"').replaceAll('\\', '/')}'`;
}
