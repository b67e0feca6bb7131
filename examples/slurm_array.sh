#!/bin/bash
#SBATCH --job-name=nasgoat
#SBATCH --array=0-7
#SBATCH --gpus-per-task=1
#SBATCH --cpus-per-task=4
#SBATCH --time=24:00:00
#SBATCH --requeue
#SBATCH --output=nasgoat-%A-%a.log
# Eight tasks with a GPU each work on one study in PostgreSQL: sbatch examples/slurm_array.sh
# A task that is requeued, and the whole array when it is submitted again, goes on where it stopped.
set -euo pipefail

# The address with its password is in a file that only you can read, never on a command line:
#   echo "export NASGOAT_STORAGE=postgresql://user:password@host/database" > ~/.nasgoat
#   chmod 600 ~/.nasgoat
if [ -z "${NASGOAT_STORAGE:-}" ] && [ -f ~/.nasgoat ]; then . ~/.nasgoat; fi
: "${NASGOAT_STORAGE:?must be postgresql://user:password@host/database}"

study=${STUDY:-cifar10}
# Slurm sets CUDA_VISIBLE_DEVICES to the GPU of the task. Checkpoints are shared by all tasks.
export OMP_NUM_THREADS=${SLURM_CPUS_PER_TASK:-1} MKL_NUM_THREADS=${SLURM_CPUS_PER_TASK:-1}
export NASGOAT_FOLDER=${SLURM_SUBMIT_DIR:-$PWD}/runs/$study

exec python -m examples.study_worker --study "$study" --space "${SPACE:-nb201}" \
    --objective "${OBJECTIVE:-examples.cifar10:train}" --evaluations "${EVALUATIONS:-160}"
