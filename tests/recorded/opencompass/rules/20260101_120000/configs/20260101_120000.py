datasets = [
    dict(
        abbr='aime-rule',
        eval_cfg=dict(
            evaluator=dict(type='opencompass.evaluator.MATHVerifyEvaluator')),
        infer_cfg=dict(
            inferencer=dict(
                type='opencompass.openicl.icl_inferencer.GenInferencer'),
            prompt_template=dict(
                template=dict(round=[
                    dict(
                        prompt=
                        '{question}\nRemember to put your final answer within \\boxed{}.',
                        role='HUMAN'),
                ]),
                type='opencompass.openicl.icl_prompt_template.PromptTemplate'),
            retriever=dict(
                type='opencompass.openicl.icl_retriever.ZeroRetriever')),
        k=[
            2,
            4,
        ],
        n=4,
        path='logs/questions.jsonl',
        reader_cfg=dict(input_columns=[
            'question',
        ], output_column='answer'),
        type='opencompass.datasets.Aime2024Dataset'),
]
infer = dict(
    partitioner=dict(
        min_task_size=8,
        num_worker=2,
        type='opencompass.partitioners.NumWorkerPartitioner'),
    runner=dict(
        max_num_workers=1,
        task=dict(type='opencompass.tasks.OpenICLInferTask'),
        type='opencompass.runners.LocalRunner'))
models = [
    dict(
        abbr='scripted',
        batch_size=5,
        generation_kwargs=dict(temperature=0.7, top_p=0.95),
        max_out_len=64,
        path='logs/scripted.asked.json',
        run_cfg=dict(num_gpus=0),
        type='make_opencompass_logs.Model'),
    dict(
        abbr='copies',
        batch_size=5,
        max_out_len=64,
        path='logs/copies.asked.json',
        run_cfg=dict(num_gpus=0),
        type='make_opencompass_logs.Copies'),
]
work_dir = 'logs/rules/20260101_120000'
